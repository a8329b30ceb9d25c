// The components with a model of React, because the project does not depend on React.
import './use-react-model.ts'
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { eventually } from '../receiving/harness.ts'
import { errorOf } from '../../packages/client/src/errors.ts'
import type { PageUser, SessionSource } from '../../packages/client/src/react/sources.ts'
import { createElement, render, unmount } from './react-model.ts'

const react = await import('../../packages/client/src/react/index.ts')
const { PosternProvider, SignedIn, SignedOut, UserButton, WebhookPortal } = react

afterEach(unmount)

/** A source whose user a test sets. */
class Source implements SessionSource {
  user: PageUser | null = null
  down = false
  listener: (() => void) | undefined
  async load(): Promise<PageUser | null> {
    if (this.down) throw errorOf('unreachable', 503, { detail: 'The service cannot be reached.' })
    return this.user
  }
  async signIn(): Promise<void> {
    this.user = { id: 'u1', email: 'ada@example.com', name: null, picture: null }
    this.listener?.()
  }
  async signOut(): Promise<void> {
    if (this.down)
      throw errorOf('internal', 500, { detail: 'An unexpected error occurred.', requestId: 'r1' })
    this.user = null
  }
  onChange(listener: () => void): () => void {
    this.listener = listener
    return () => undefined
  }
}

const app = (source: Source) =>
  createElement(
    PosternProvider,
    { source },
    createElement(UserButton, null),
    createElement(SignedIn, null, ' welcome'),
    createElement(SignedOut, null, ' strangers'),
  ) as unknown as Parameters<typeof render>[0]

describe('components', () => {
  test('show what belongs to those who are signed in, and follow sign-in and sign-out', async (t) => {
    const { mock } = t.mock.method(console, 'error', () => undefined)
    const source = new Source()
    const page = app(source)
    assert.equal(render(page).text, '')
    const shows = (text: string): Promise<unknown> =>
      eventually(() => render(page).text === text, `${text}, not ${render(page).text}`)
    await shows('[Sign in] strangers')
    render(page).press.get('Sign in')!()
    await shows('ada@example.com [Sign out] welcome')
    source.down = true
    render(page).press.get('Sign out')!()
    await shows('ada@example.com [Sign out]That did not work. Try again. welcome')
    assert.equal(
      mock.calls[0]?.arguments[0],
      'postern-client: “Sign out” failed (internal, request r1). An unexpected error occurred.',
    )
    source.down = false
    render(page).press.get('Sign out')!()
    await shows('[Sign in] strangers')
  })

  test('without an answer of the service nobody is taken for signed out', async (t) => {
    const { mock } = t.mock.method(console, 'error', () => undefined)
    const source = new Source()
    source.down = true
    const page = app(source)
    render(page)
    await new Promise((done) => setImmediate(done))
    assert.equal(render(page).text, '')
    assert.equal(mock.calls.length, 1)
    assert.match(
      String(mock.calls[0]!.arguments[0]),
      /reading the session failed \(unreachable\)\. .* CORS_ORIGINS/,
    )
  })
})

describe('WebhookPortal', () => {
  afterEach(() => Reflect.deleteProperty(globalThis, 'open'))

  /** A window that a click opens. */
  function openWindow() {
    const tab = { opener: 'us' as unknown, went: '', closed: false }
    const opened = Object.assign(tab, {
      location: { replace: (to: string) => (tab.went = to) },
      close: () => (tab.closed = true),
    })
    Object.defineProperty(globalThis, 'open', { value: () => opened, configurable: true })
    return opened
  }
  const portal = (createLink: () => Promise<string>) =>
    createElement(WebhookPortal, { createLink }) as unknown as Parameters<typeof render>[0]

  test('opens the link in a tab that cannot reach the page', async () => {
    const tab = openWindow()
    const page = portal(async () => 'https://gate.example.com/portal#token')
    render(page).press.get('Manage webhooks')!()
    assert.equal(tab.opener, null)
    await eventually(() => tab.went === 'https://gate.example.com/portal#token', tab.went)
  })

  for (const [what, createLink] of [
    ['there is no link', () => Promise.reject(new Error('403'))],
    ['a server answers with a page', async () => '<!doctype html>'],
  ] as const)
    test(`closes the tab and says so when ${what}`, async (t) => {
      const { mock } = t.mock.method(console, 'error', () => undefined)
      const tab = openWindow()
      const page = portal(createLink)
      render(page).press.get('Manage webhooks')!()
      await eventually(() => tab.closed && render(page).text.includes('could not be opened'), 'the message')
      assert.match(String(mock.calls[0]?.arguments[0]), /\(no-link\)\. createLink must resolve to the url/)
    })
})
