import { createElement, useEffect, useState, type ReactElement, type ReactNode } from 'react'
import { embedPortal, reportNoLink } from '../browser/embed-portal.ts'
import { reportFailure, useSession } from './provider.ts'

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
  const run = (label: string, action: () => Promise<void>) => () => {
    setBusy(true)
    setFailed(false)
    action()
      .catch((error: unknown) => {
        setFailed(true)
        reportFailure(`“${label}”`, error)
      })
      .finally(() => setBusy(false))
  }
  const button = (label: string, action: () => Promise<void>): ReactElement =>
    createElement('button', { type: 'button', disabled: busy, onClick: run(label, action) }, label)
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
  /**
   * Shows the portal in a frame of this page, whose origin the service must name in `PORTAL_FRAME_ORIGINS`; where it does not,
   * there is the button instead. Default false.
   */
  embed?: boolean
  /** The name of the frame for screen readers. Default `Webhooks`. */
  title?: string
  /** The label of the button. Default `Manage webhooks`. */
  children?: ReactNode
}

/**
 * The portal, where a tenant manages its endpoints: a button that opens it in a tab of its own, or with `embed` the portal itself.
 * A link works once, so each opening asks for a new one.
 */
export function WebhookPortal(props: WebhookPortalProps): ReactElement {
  const [refused, setRefused] = useState(false)
  return props.embed && !refused
    ? createElement(PortalFrame, { ...props, onRefused: () => setRefused(true) })
    : createElement(PortalButton, props)
}

/** The latest `createLink`, so that a new function of each rendering does not load the frame again. */
interface Latest {
  createLink: () => Promise<string>
}

function PortalFrame(props: WebhookPortalProps & { onRefused: () => void }): ReactElement {
  const { createLink, className, title } = props
  const [container, setContainer] = useState<Parameters<typeof embedPortal>[0] | null>(null)
  const [failed, setFailed] = useState(false)
  const [latest] = useState<Latest>({ createLink })
  latest.createLink = createLink
  useEffect(() => {
    if (!container) return undefined
    return embedPortal(container, {
      createLink: () => latest.createLink(),
      title,
      onFailed: (reason) => (reason === 'refused' ? props.onRefused() : setFailed(true)),
    })
  }, [container, title])
  return createElement('div', { className, ref: setContainer }, failed ? notOpened() : null)
}

function notOpened(): ReactElement {
  return createElement('span', { role: 'alert' }, 'The portal could not be opened. Try again.')
}

function PortalButton({ createLink, className, children }: WebhookPortalProps): ReactElement {
  const [failed, setFailed] = useState(false)
  const open = (): void => {
    setFailed(false)
    // Opened within the click: browsers block a window that is opened after an answer.
    const tab = openTab()
    createLink()
      // An address, and not the page of a sign-in that a server answered instead.
      .then((link) => tab.go(new URL(link).href))
      .catch((cause: unknown) => {
        tab.close()
        reportNoLink(cause)
        setFailed(true)
      })
  }
  return createElement(
    'span',
    { className },
    createElement('button', { type: 'button', onClick: open }, children ?? 'Manage webhooks'),
    failed ? notOpened() : null,
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
