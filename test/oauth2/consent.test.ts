// Apps that are not the product's own: the person is asked first.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Browser, onEachEngine, rowsOf, started, startedService } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { newPkce, signIn, codeGrant } from '../login/harness.ts'
import { authorizeUrl, callback, hiddenFields, token } from './harness.ts'

onEachEngine('consent', (engine) => {
  let browser: Browser
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME') },
    config: {
      login: { clients: [{ id: 'forum', name: 'Forum', firstParty: false, redirectUris: [callback] }] },
    },
  }))
  let people = 0
  beforeEach(async () => {
    people += 1
    provider.profile = { id: `person-${people}`, name: 'Ann' }
    browser = new Browser()
    await signIn(service, browser)
  })

  const start = (more: Record<string, string> = {}, pkce = newPkce()): URL =>
    authorizeUrl(service, { client_id: 'forum', ...more }, pkce)
  const answer = (fields: Record<string, string>, decision: string, by = browser): Promise<Response> =>
    by.go(new URL('/oauth2/consent', service.baseUrl), {
      method: 'POST',
      body: new URLSearchParams({ ...fields, decision }),
      headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
    })
  const actions = async (): Promise<string[]> => {
    const rows = await rowsOf(service, 'audit_log', { target: 'app:forum' }, 'seq')
    return rows.map(({ action }) => action)
  }
  const targetOf = (response: Response): URL =>
    new URL(response.headers.get('refresh')!.replace('0;url=', ''))

  test('the app gets a code after the person allowed it, and is not asked for again', async () => {
    const pkce = newPkce()
    const page = await browser.go(start({ scope: 'openid email' }, pkce))
    assert.equal(page.status, 200)
    const fields = hiddenFields(await page.text())
    const allowed = await answer(fields, 'allow')
    assert.equal(allowed.status, 200)
    const target = targetOf(allowed)
    assert.equal(target.origin + target.pathname, callback)
    const { status, body } = await token(
      service,
      codeGrant(target.searchParams.get('code')!, pkce, { client_id: 'forum' }),
    )
    assert.equal(status, 200)
    const call = await service.fetch('/auth/sessions', {
      headers: { authorization: `Bearer ${String(body['access_token'])}` },
    })
    assert.equal(call.status, 401, 'its token is for the userinfo endpoint only')
    assert.equal((await answer(fields, 'allow')).status, 400, 'a page is used once')
    assert.deepEqual(await actions(), ['app.authorized'])
    assert.equal((await browser.go(start({ scope: 'openid' }))).status, 303)
    assert.equal(
      (await browser.go(start({ scope: 'openid email profile' }))).status,
      200,
      'more scopes need another consent',
    )
    assert.equal((await browser.go(start({ scope: 'openid', prompt: 'consent' }))).status, 200)
  })

  test('a person who denies sends the app an error', async () => {
    const page = await browser.go(start())
    const denied = targetOf(await answer(hiddenFields(await page.text()), 'deny'))
    assert.deepEqual(
      [denied.searchParams.get('error'), denied.searchParams.get('state'), denied.searchParams.get('iss')],
      ['access_denied', 'the-state', service.baseUrl],
    )
    const none = await browser.go(start({ prompt: 'none' }))
    assert.equal(new URL(none.headers.get('location')!).searchParams.get('error'), 'consent_required')
  })
})
