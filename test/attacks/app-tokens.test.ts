// A stolen access token of an app gives the rights of that app, not those of the account: it neither shows nor ends other devices.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, started, startTestService, fields } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { appStart, exchange, newPkce, whoAmI, codeGrant } from '../login/harness.ts'
import { signInApp } from '../oauth2/app-sessions.ts'
import { assertProblem, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const accountSecret = 'a-secret-of-the-account-page'
const redirectUri = 'https://app.example.com/callback'
type Device = AnswerTo<'GET /auth/sessions'>['data'][number]

onEachEngine("an app's token and the sessions of its user", (engine) => {
  const provider = started(startHonestProvider)
  const service = started(async () => {
    const redirectUris = [redirectUri]
    const clients = [
      { id: 'spa', redirectUris },
      { id: 'mobile', redirectUris },
      { id: 'account-page', redirectUris, managesSessions: true },
      { id: 'account', redirectUris, managesSessions: true, secret: accountSecret },
    ]
    return startTestService(engine, { env: provider.env('ACME'), config: { login: { clients } } })
  })

  async function tokenOf(client: string, person: string): Promise<string> {
    const pkce = newPkce()
    const path = appStart(pkce, { client_id: client, redirect_uri: redirectUri })
    const target = await signInAs(service, new Browser(), provider, person, path)
    const { body } = await exchange(
      service,
      codeGrant(new URL(target).searchParams.get('code')!, pkce, { client_id: client }),
    )
    return String(body['access_token'])
  }
  const call = (token: string, method: string, path: string): Promise<Response> =>
    service.fetch(path, { method, headers: { authorization: `Bearer ${token}` } })
  const devicesOf = async (token: string): Promise<Device[]> =>
    ((await (await call(token, 'GET', '/auth/sessions')).json()) as { data: Device[] }).data
  const isGood = async (token: string): Promise<boolean> =>
    (await call(token, 'GET', '/auth/session')).status === 200
  async function signedIn(person: string): Promise<{ browser: Browser; id: string }> {
    const browser = new Browser()
    await signInAs(service, browser, provider, person)
    const answer = await browser.go(new URL('/auth/session', service.baseUrl))
    return { browser, id: ((await answer.json()) as { session: { id: string } }).session.id }
  }

  test('it lists only sessions of its own app', async () => {
    await signedIn('sees')
    await tokenOf('mobile', 'sees')
    const [first, second] = [await tokenOf('spa', 'sees'), await tokenOf('spa', 'sees')]
    for (const token of [first, second]) {
      const devices = await devicesOf(token)
      assert.deepEqual(fields(devices, 'app', 'kind', 'current'), [
        ['spa', 'app', true],
        ['spa', 'app', false],
      ])
    }
  })

  test('it cannot revoke browser sessions or other apps, by id or all at once', async () => {
    const { browser, id } = await signedIn('ends')
    const mobile = await tokenOf('mobile', 'ends')
    const [mine, sibling] = [await tokenOf('spa', 'ends'), await tokenOf('spa', 'ends')]
    const [{ id: mobileId } = { id: '' }] = await devicesOf(mobile)
    for (const foreign of [id, mobileId])
      await assertProblem(await call(mine, 'DELETE', `/auth/sessions/${foreign}`), 404, 'not-found')
    assert.equal((await call(mine, 'DELETE', '/auth/sessions')).status, 204)
    assert.ok(await whoAmI(service, browser), 'the browser goes on')
    assert.deepEqual(await Promise.all([mobile, mine, sibling].map(isGood)), [true, true, false])
  })

  test('it can revoke its own sign-ins and sign itself out', async () => {
    const { browser } = await signedIn('own')
    const [mine, sibling] = [await tokenOf('spa', 'own'), await tokenOf('spa', 'own')]
    const other = (await devicesOf(mine)).find(({ current }) => !current)!
    assert.equal((await call(mine, 'DELETE', `/auth/sessions/${other.id}`)).status, 204)
    assert.equal(await isGood(sibling), false)
    assert.equal((await call(mine, 'POST', '/auth/logout')).status, 204)
    assert.equal(await isGood(mine), false)
    assert.ok(await whoAmI(service, browser))
  })

  test('its sign-out in a browser with a session leaves the cookie of the live session', async () => {
    const { browser } = await signedIn('both')
    for (const path of ['/auth/logout', 'own session']) {
      const token = await tokenOf('spa', 'both')
      const { id } = (await devicesOf(token)).find(({ current }) => current)!
      const [method, url] = path === '/auth/logout' ? ['POST', path] : ['DELETE', `/auth/sessions/${id}`]
      const headers = { authorization: `Bearer ${token}` }
      const answer = await browser.go(new URL(url, service.baseUrl), { method, headers })
      assert.equal(answer.status, 204)
      assert.equal(await isGood(token), false)
      assert.ok(await whoAmI(service, browser), `${path} removed the cookie of a session that goes on`)
    }
  })

  test('it cannot read the audit log of the account', async () => {
    await assertProblem(await call(await tokenOf('spa', 'log'), 'GET', '/auth/audit'), 403, 'forbidden')
  })

  test('an app with managesSessions does not end itself with the other sessions', async () => {
    const [here, elsewhere] = [await signedIn('stays'), await signedIn('stays')]
    const account = { id: 'account', secret: accountSecret }
    const app = await signInApp(service, here.browser, account)
    const other = await signInApp(service, elsewhere.browser, account)
    assert.equal((await call(app.accessToken, 'DELETE', '/auth/sessions')).status, 204)
    assert.deepEqual([await isGood(app.accessToken), await isGood(other.accessToken)], [true, false])
    assert.ok(await whoAmI(service, here.browser), 'the browser of the sign-in goes on')
    assert.equal(await whoAmI(service, elsewhere.browser), undefined)
  })

  test('an app with managesSessions lists and revokes all sessions', async () => {
    const { browser, id } = await signedIn('manages')
    const mobile = await tokenOf('mobile', 'manages')
    const manager = await tokenOf('account-page', 'manages')
    assert.equal((await devicesOf(manager)).length, 3)
    assert.equal((await call(manager, 'GET', '/auth/audit')).status, 200)
    assert.equal((await call(manager, 'DELETE', `/auth/sessions/${id}`)).status, 204)
    assert.equal(await whoAmI(service, browser), undefined)
    assert.equal((await call(manager, 'DELETE', '/auth/sessions')).status, 204)
    assert.deepEqual(await Promise.all([mobile, manager].map(isGood)), [false, true])
  })
})
