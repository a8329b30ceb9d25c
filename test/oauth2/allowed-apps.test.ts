import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertProblem, browserOf } from '../attacks/harness.ts'
import { startHonestProvider } from '../attacks/honest-provider.ts'
import { type Browser, each, fields, onEachEngine, started, startedService } from '../harness/index.ts'
import { codeOf, exchangeCode, isLive, lastAudit, sessionOf, signInApp } from './app-sessions.ts'

const redirectUris = ['https://app.example.com/callback']
const shop = { id: 'shop', name: 'The shop', secret: 'shop-secret-0123456789', redirectUris }
const forum = { id: 'forum', name: 'A forum', firstParty: false, redirectUris }

onEachEngine('the apps of an account', (engine) => {
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [shop, forum] } },
  }))

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), { method })
  async function appsOf(browser: Browser): Promise<Record<string, unknown>[]> {
    const answer = await call(browser, 'GET', '/auth/apps')
    assert.equal(answer.status, 200)
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data
  }
  async function allow(userId: string, clientId: string, scope: string): Promise<void> {
    const row = {
      user_id: userId,
      client_id: clientId,
      scope,
      resource: '',
      granted_at: 1_000,
      updated_at: 1_000,
    }
    await service.database.transaction((tx) => tx.insertInto('consents').values(row).execute())
  }

  test('lists apps with live tokens and allowed ones, and only those of the caller', async () => {
    const browser = await signedIn('lister')
    assert.deepEqual(await appsOf(browser), [])
    const { userId } = (await sessionOf(service, browser))!
    await allow(userId, 'forum', 'openid email')
    await allow(userId, 'gone', 'openid')
    await signInApp(service, browser, shop)
    await signInApp(service, browser, shop, 'openid profile')
    const apps = await appsOf(browser)
    assert.deepEqual(fields(apps, 'id', 'name', 'firstParty', 'scopes'), [
      ['shop', 'The shop', true, ['openid', 'profile']],
      ['forum', 'A forum', false, ['email', 'openid']],
    ])
    assert.equal(apps[1]!['since'], '1970-01-01T00:00:01.000Z')
    assert.equal(apps[1]!['lastUsedAt'], null)
    assert.ok(Date.parse(String(apps[0]!['lastUsedAt'])) > 0)
    assert.deepEqual(await appsOf(await signedIn('somebody-else')), [])
  })

  test('removing an app ends its tokens, its codes and the consent, and nothing else', async () => {
    const browser = await signedIn('remover')
    const { userId } = (await sessionOf(service, browser))!
    await allow(userId, 'shop', 'openid')
    await allow(userId, 'forum', 'openid')
    const tokens = await signInApp(service, browser, shop, 'openid offline_access')
    const code = await codeOf(service, browser, 'shop', 'openid')
    assert.equal((await call(browser, 'DELETE', '/auth/apps/shop')).status, 204)
    assert.equal(await isLive(service, tokens), false)
    assert.equal((await exchangeCode(service, shop, code)).status, 400)
    assert.ok(await sessionOf(service, browser))
    assert.deepEqual(each(await appsOf(browser), 'id'), ['forum'])
    const entry = await lastAudit(service, 'app.removed')
    assert.deepEqual(
      [entry?.user_id, entry?.target, entry?.detail],
      [userId, 'app:shop', '{"consent":true,"signIns":1}'],
    )
    await assertProblem(await call(browser, 'DELETE', '/auth/apps/shop'), 404, 'not-found')
  })

  test('an app sees and removes no others', async () => {
    const browser = await signedIn('nosy')
    const { accessToken } = await signInApp(service, browser, shop)
    const headers = { authorization: `Bearer ${accessToken}` }
    await assertProblem(await service.fetch('/auth/apps', { headers }), 403, 'forbidden')
    const removal = await service.fetch('/auth/apps/shop', { method: 'DELETE', headers })
    await assertProblem(removal, 403, 'forbidden')
  })
})
