import { createElement, useState, type ReactElement, type ReactNode } from 'react'
import { useSession } from './provider.ts'

export interface ChildrenProps {
  children?: ReactNode
}

/** Shows its children to those who are signed in. */
export function SignedIn({ children }: ChildrenProps): ReactNode {
  return useSession().status === 'signed-in' ? children : null
}

/** Shows its children to those who are not; while that is unknown, to nobody. */
export function SignedOut({ children }: ChildrenProps): ReactNode {
  return useSession().status === 'signed-out' ? children : null
}

export interface UserButtonProps {
  className?: string
  /** Default `Sign in`. */
  signInLabel?: string
  /** Default `Sign out`. */
  signOutLabel?: string
}

/** The user's name with a button to sign out, or a button to sign in. Without styles of its own. */
export function UserButton(props: UserButtonProps): ReactElement | null {
  const { className = 'postern-user', signInLabel = 'Sign in', signOutLabel = 'Sign out' } = props
  const { status, user, signIn, signOut } = useSession()
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState(false)
  const run = (action: () => Promise<void>) => () => {
    setBusy(true)
    setFailed(false)
    action()
      .catch(() => setFailed(true))
      .finally(() => setBusy(false))
  }
  const button = (label: string, action: () => Promise<void>): ReactElement =>
    createElement('button', { type: 'button', disabled: busy, onClick: run(action) }, label)
  const alert = failed ? createElement('span', { role: 'alert' }, 'That did not work. Try again.') : null
  if (status === 'signed-in')
    return createElement(
      'span',
      { className },
      createElement('span', { className: `${className}-name` }, user?.name ?? user?.email ?? user?.id),
      ' ',
      button(signOutLabel, signOut),
      alert,
    )
  if (status === 'signed-out') return createElement('span', { className }, button(signInLabel, signIn), alert)
  return null
}

export interface WebhookPortalProps {
  /** Asks your own server for a link, which it makes by POST /portal-links for the tenant of the signed-in user. */
  createLink: () => Promise<string>
  className?: string
  /** Default `Manage webhooks`. */
  children?: ReactNode
}

/**
 * A button that opens the portal, where a tenant manages its endpoints, in a tab of its own. The portal cannot be framed: its
 * pages forbid it, so that no other site can lay something over its buttons. A link works once, so each click asks for a new one.
 */
export function WebhookPortal({ createLink, className, children }: WebhookPortalProps): ReactElement {
  const [failed, setFailed] = useState(false)
  const open = (): void => {
    setFailed(false)
    // Opened within the click: browsers block a window that is opened after an answer.
    const tab = openTab()
    createLink()
      .then((url) => tab.go(url))
      .catch(() => {
        tab.close()
        setFailed(true)
      })
  }
  return createElement(
    'span',
    { className },
    createElement('button', { type: 'button', onClick: open }, children ?? 'Manage webhooks'),
    failed ? createElement('span', { role: 'alert' }, 'The portal could not be opened. Try again.') : null,
  )
}

interface Tab {
  opener: unknown
  location: { replace(url: string): void }
  close(): void
}

function openTab(): { go(url: string): void; close(): void } {
  const window = globalThis as unknown as {
    open(url: string, target: string): Tab | null
    location: { assign(url: string): void }
  }
  const tab = window.open('about:blank', '_blank')
  if (tab) tab.opener = null
  return {
    go: (url) => (tab ? tab.location.replace(url) : window.location.assign(url)),
    close: () => tab?.close(),
  }
}
