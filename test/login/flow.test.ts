import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { onEachEngine } from '#test/harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'

onEachEngine('the sign-in flow', (engine) => {
  let provider: OAuthProvider
  let service: TestService
  before(async () => {
    provider = await startOAuthProvider()
    service = await startTestService(engine, { env: { ...provider.env('ACME'), ...provider.env('OTHER') } })
  })
  after(async () => {
    await service.close()
    await provider.close()
  })

  const isOurs = (url: URL): boolean => url.origin === service.baseUrl

  /** Begins a sign-in and gives the callback that the provider leads back to, not yet called. */
  async function upToCallback(browser: Browser, path = '/auth/acme'): Promise<URL> {
    const { next } = await browser.follow(new URL(path, service.baseUrl), (url) => !isOurs(url))
    assert.ok(next && isOurs(next))
    return next
  }

  test('a complete sign-in leads to /dashboard and gives a session', async () => {
    const browser = new Browser()
    const callback = await upToCallback(browser)
    const answer = await browser.go(callback)
    assert.equal(answer.status, 303)
    assert.equal(answer.headers.get('location'), '/dashboard')
    const me = await browser.go(new URL('/auth/session', service.baseUrl))
    assert.equal(me.status, 200)
    const { user } = (await me.json()) as { user: Record<string, unknown> }
    assert.deepEqual(
      { ...user, id: undefined },
      { id: undefined, email: 'ada@example.com', name: 'Ada Lovelace', role: 'user' },
    )
  })
})
