// Who is signed in to an app, and what its deletion ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { storedClients } from '../../src/oauth2/clients/client-routes.ts'
import { forgetClient, addSecret, deleteEndedSecrets } from '../../src/oauth2/clients/client-management.ts'
import { Browser, each, fields, onEachEngine, rowsOf, started, startedService } from '../harness/index.ts'
import { startOAuthProvider } from '../harness/oauth-provider.ts'
import { startReceiver } from '../harness/receiver.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { until } from '../emitting/harness.ts'
import { signIn, whoAmI } from '../login/harness.ts'
import { lastAudit, sessionOf, signInApp } from './app-sessions.ts'
import { callback, token } from './harness.ts'

type Json = Record<string, unknown>
type Page = AnswerTo<'GET /clients/{id}/sign-ins'>

onEachEngine('the sign-ins of an app', (engine) => {
  const provider = started(startOAuthProvider)
  const receiver = started(() => startReceiver(200))
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME'), ALLOW_PRIVATE_NETWORK: 'true' },
  }))

  async function create(): Promise<{ id: string; secret: string }> {
    const response = await service.admin('/clients', {
      method: 'POST',
      json: {
        name: 'Notes',
        redirectUris: [callback],
        firstParty: true,
        backchannelLogoutUri: receiver.url,
        idTokenAlgorithm: 'RS256',
      },
    })
    assert.equal(response.status, 201)
    return (await response.json()) as { id: string; secret: string }
  }
  async function signedIn(id: string): Promise<Browser> {
    const browser = new Browser()
    provider.profile = { id, displayName: `Name of ${id}` }
    await signIn(service, browser)
    return browser
  }
  async function page(id: string, query = ''): Promise<Page> {
    const response = await service.admin(`/clients/${id}/sign-ins${query}`)
    assert.equal(response.status, 200)
    return (await response.json()) as Page
  }

  test('are listed by page, with their users', async () => {
    const [app, other] = [await create(), await create()]
    const sids: string[] = []
    for (const person of ['ann', 'bob', 'cyd']) {
      const browser = await signedIn(person)
      sids.unshift((await signInApp(service, browser, app)).sid)
      await signInApp(service, browser, other)
    }
    const first = await page(app.id, '?limit=2')
    const second = await page(app.id, `?limit=2&cursor=${first.pageInfo.nextCursor!}`)
    const all = [...first.data, ...second.data]
    assert.deepEqual(each(all, 'id'), sids)
    assert.deepEqual(each(all, 'name'), ['Name of cyd', 'Name of bob', 'Name of ann'])
    assert.ok(all.every(({ scopes }) => scopes.includes('openid')))
    assert.equal(second.pageInfo.nextCursor, null)
    const foreign = await service.admin(`/clients/${other.id}/sign-ins?cursor=${first.pageInfo.nextCursor!}`)
    assert.equal(foreign.status, 400, 'a cursor belongs to its app')
    assert.equal((await service.admin('/clients/nobody/sign-ins')).status, 404)
  })

  test('end one by one, with an entry; another app cannot name them', async () => {
    const [app, other] = [await create(), await create()]
    const browser = await signedIn('dan')
    const { sid, refreshToken } = await signInApp(service, browser, app)
    const end = (id: string) => service.admin(`/clients/${id}/sign-ins/${sid}`, { method: 'DELETE' })
    assert.equal((await end(other.id)).status, 404)
    assert.equal((await end(app.id)).status, 204)
    assert.equal((await end(app.id)).status, 404, 'it has ended')
    assert.deepEqual((await page(app.id)).data, [])
    const refreshed = await token(service, {
      grant_type: 'refresh_token',
      client_id: app.id,
      client_secret: app.secret,
      refresh_token: refreshToken,
    })
    assert.equal(refreshed.status, 400)
    const entry = await lastAudit(service, 'tokens.revoked')
    assert.equal(entry?.target, `app:${app.id}`)
    assert.equal(entry?.user_id, (await whoAmI(service, browser))!.id)
  })

  test('an app that is deleted is told that its sign-ins ended', async () => {
    const app = await create()
    const browser = await signedIn('eve')
    const { sid } = await signInApp(service, browser, app)
    const { userId } = (await sessionOf(service, browser))!
    assert.equal((await service.admin(`/clients/${app.id}`, { method: 'DELETE' })).status, 204)
    // Logout tokens of other tests' apps may arrive at the same time.
    const logoutTokens = () =>
      receiver.calls
        .map(({ body }) => new URLSearchParams(body.toString()).get('logout_token') ?? '')
        .filter((token) => decodeJwt(token).aud === app.id)
    await until(async () => logoutTokens().length > 0, 'the app receives its logout token')
    const jwt = logoutTokens()[0]!
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.baseUrl))
    const { payload, protectedHeader } = await jwtVerify(jwt, keys, { issuer: service.baseUrl })
    assert.deepEqual([payload.aud, payload.sub, payload['sid']], [app.id, userId, sid])
    assert.equal(protectedHeader.alg, 'RS256')
    const waiting = () => service.database.reader.selectFrom('backchannel_logouts').selectAll().execute()
    await until(async () => (await waiting()).length === 0, 'nothing is left to send')
  })

  test('a deleted app is still told what ended before', async () => {
    const app = await create()
    const { userId } = (await sessionOf(service, await signedIn('kim')))!
    const notice = { family_id: 'ended-before', user_id: userId, client_id: app.id, created_at: 1 }
    const later = { due_at: 9_000_000_000_000, claimed_until: null, uri: null, algorithm: null }
    const { database } = service
    const rows = { ...notice, ...later }
    await database.transaction((tx) => tx.insertInto('backchannel_logouts').values(rows).execute())
    await service.admin(`/clients/${app.id}`, { method: 'DELETE' })
    const left = await database.transaction((tx) =>
      tx
        .deleteFrom('backchannel_logouts')
        .where('family_id', '=', notice.family_id)
        .returning(['uri', 'algorithm'])
        .execute(),
    )
    assert.deepEqual(fields(left, 'uri', 'algorithm'), [[receiver.url, 'RS256']])
  })

  test('of a deleted app end in steps, however many there are', async () => {
    const app = await create()
    const { userId } = (await sessionOf(service, await signedIn('fay')))!
    const now = Date.now()
    await service.database.transaction(async (tx) => {
      const rows = Array.from({ length: 7 }, (_, index) => ({
        id: `many-${index}`,
        user_id: userId,
        client_id: app.id,
        provider: 'acme',
        created_at: now,
        last_seen_at: now,
        expires_at: now + 60_000,
        authenticated_at: now,
        scope: 'profile',
      }))
      await tx.insertInto('token_families').values(rows).execute()
    })
    const client = (await storedClients(service.database, 100)).find(({ id }) => id === app.id)!
    await forgetClient(service.database, client, now, 3)
    const live = await rowsOf(service, 'token_families', { client_id: app.id, revoked_at: null })
    assert.deepEqual(live, [])
  })

  test('secrets that have ended are deleted, valid ones stay', async () => {
    const app = await create()
    const now = Date.now()
    await service.database.transaction((tx) => addSecret(tx, app.id, { now, overlap: 1_000 }))
    const kept = async (): Promise<number> =>
      (await rowsOf(service, 'client_secrets', { client_id: app.id })).length
    await service.database.transaction((tx) => deleteEndedSecrets(tx, now + 999))
    assert.equal(await kept(), 2)
    await service.database.transaction((tx) => deleteEndedSecrets(tx, now + 1_000))
    assert.equal(await kept(), 1)
    const secrets = ((await (await service.admin(`/clients/${app.id}`)).json()) as Json)['secrets'] as Json[]
    assert.equal(secrets.length, 1)
  })
})
