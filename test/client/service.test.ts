// The client library against the service: the same calls that its unit tests make of models.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import {
  createPostern,
  RateLimitedError,
  verifyWebhook,
  type Postern,
} from '../../packages/client/src/index.ts'
import { createVerifier } from '../../packages/client/src/tokens/index.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { SigningKeys } from '../../src/accounts/tokens/signing-keys.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { emit, startEmitting, subscribe } from '../emitting/harness.ts'
import { adminKey, Browser, engines, started, startOAuthProvider } from '../harness/index.ts'
import { startReceiver } from '../harness/receiver.ts'
import { childEnvironment } from '../harness/child-environment.ts'
import { appTokens, signIn, spa } from '../login/harness.ts'

const audience = 'https://api.example.com'
const api = { id: 'api', secret: 'secret-of-the-api-0123456789-abcdefghij', clientCredentials: true }

describe('the client library', () => {
  let postern: Postern
  const provider = started(startOAuthProvider)
  const receiver = started(startReceiver)
  const service = started(async () => {
    const shop = { ...spa, id: 'shop', audience }
    const config = { login: { clients: [spa, shop, { ...api, audiences: [audience] }] } }
    return startEmitting(engines[0]!, { env: provider.env('ACME'), config })
  })
  before(async () => {
    postern = createPostern({ url: service.baseUrl, token: adminKey })
  })

  async function newToken(clientId = 'spa'): Promise<string> {
    const body = await appTokens(service, { client_id: clientId })
    return String(body['access_token'])
  }
  const withBearer = (token: string): Headers => new Headers({ authorization: `Bearer ${token}` })

  test('getSession knows the user of a cookie until the sign-out', async () => {
    const browser = new Browser()
    await signIn(service, browser)
    const cookie = [...browser.cookies(service.baseUrl)].map(([name, value]) => `${name}=${value}`).join('; ')
    const session = await postern.getSession(new Headers({ cookie }))
    assert.equal(session?.user.email, 'ada@example.com')
    assert.equal(session.session.kind, 'session')
    await assert.rejects(postern.requireUser(new Headers({ cookie }), { role: 'admin' }), { status: 403 })
    await browser.go(new URL('/auth/logout', service.baseUrl), {
      method: 'POST',
      headers: { origin: service.baseUrl },
    })
    assert.equal(await postern.getSession(new Headers({ cookie })), null)
  })

  test('getSession knows the user of a token, and nobody by an API key or an invented token', async () => {
    const session = await postern.getSession(withBearer(await newToken()))
    assert.equal(session?.session.kind, 'token')
    assert.equal(await postern.getSession(withBearer(adminKey)), null)
    assert.equal(await postern.getSession(withBearer('invented')), null)
  })

  test('verify accepts the tokens of the service until their key is withdrawn', async () => {
    const old = await newToken()
    const claims = await postern.verify(old)
    assert.equal(claims.client_id, 'spa')
    assert.equal(claims.iss, service.baseUrl)
    const impatient = createVerifier({ issuer: service.baseUrl, audience: service.baseUrl, cooldown: 0 })
    await impatient.verify(old)
    const keyring = new Keyring(['test-master-secret-of-32-bytes-or-more'])
    const record = createRecordAudit(systemClock)
    const { database } = service
    const keys = new SigningKeys({ database, keyring, clock: systemClock, rotation: 86_400_000, record })
    await keys.rotate('now', { actor: 'cli' })
    await impatient.verify(await newToken())
    await assert.rejects(impatient.verify(old), { code: 'invalid-token', status: 401 })
  })

  test('checkRevoked refuses the token of an ended session at once', async () => {
    const token = await newToken()
    const issuer = service.baseUrl
    const live = createVerifier({ issuer, audience: issuer, checkRevoked: true })
    const remembering = createVerifier({ issuer, audience: issuer })
    for (const { verify } of [live, remembering]) await verify(token)
    const { status } = await service.fetch('/auth/logout', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(status, 204)
    await assert.rejects(live.verify(token), { code: 'invalid-token' })
    await remembering.verify(token)
  })

  test('checkRevoked introspects the tokens for another API, as a confidential client', async () => {
    const token = await newToken('shop')
    const settings = { issuer: service.baseUrl, audience }
    const credentials = { clientId: api.id, clientSecret: api.secret }
    const live = createVerifier({ ...settings, checkRevoked: credentials })
    assert.equal((await live.verify(token)).client_id, 'shop')
    const wrong = createVerifier({ ...settings, checkRevoked: { ...credentials, clientSecret: 'wrong' } })
    await assert.rejects(wrong.verify(token), { code: 'invalid_client', status: 503 })
    const { status } = await service.fetch('/oauth2/revoke', {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: 'shop' }),
    })
    assert.equal(status, 200)
    await assert.rejects(live.verify(token), { code: 'invalid-token', status: 401 })
  })

  test('lists of all forms are read to their end', async () => {
    const ids = Array.from({ length: 7 }, (_, index) => `listed-${index}`)
    for (const id of ids) await postern.post('/events', { body: { type: 'listed', data: {}, id } })
    const found: string[] = []
    for await (const { eventId } of postern.list('/events', { query: { type: 'listed', limit: 2 } }))
      found.push(eventId)
    assert.deepEqual(found, ids)
    const users: string[] = []
    for await (const { id } of postern.list('/users', { query: { limit: 1 } })) users.push(id)
    const { pagination } = await postern.get('/users')
    assert.equal(users.length, pagination.total)
    assert.equal(new Set(users).size, users.length)
    let products = 0
    for await (const _product of postern.list('/products', { query: { limit: 100 } })) products += 1
    assert.equal(products, await countRows('products'))
  })

  test('an error has the code of the problem and the id of the request', async () => {
    const error = await postern
      .get('/events/{id}', { params: { id: '999999999' } })
      .catch((reason: unknown) => reason)
    const { name, code, status, requestId } = error as Record<string, unknown>
    assert.deepEqual([name, code, status], ['NotFoundError', 'not-found', 404])
    assert.match(String(requestId), /./)
    const stranger = createPostern({ url: service.baseUrl, token: 'invented' })
    await assert.rejects(stranger.get('/subscribers'), { name: 'NotSignedInError', code: 'not-signed-in' })
  })

  test('a delivery is verified from its bytes and headers', async () => {
    const { secret } = await subscribe(service, {
      url: receiver.url,
      eventTypes: ['order.shipped'],
      signing: 'both',
    })
    const { eventId } = await emit(service, { type: 'order.shipped', data: { order: 1 } })
    const [call] = await receiver.waitFor(1)
    const event = await verifyWebhook<{ order: number }>(call!.body, call!, secret)
    assert.deepEqual([event.id, event.type, event.data], [eventId, 'order.shipped', { order: 1 }])
    await assert.rejects(verifyWebhook(`${call!.body.toString()} `, call!, secret), {
      code: 'invalid-signature',
    })
  })

  test('the command writes the types of the calls of this service', async () => {
    const command = join(import.meta.dirname, '../../packages/client/src/types-command.ts')
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [command, service.baseUrl], { env: childEnvironment() })
    assert.match(stdout, /^\/\*\* .* \*\/\nexport interface Calls \{\n[^]*'GET \/users': \{[^]*\n\}\n$/)
    await assert.rejects(
      run(process.execPath, [command, 'http://127.0.0.1:1']),
      /unreachable|cannot be reached/,
    )
  })

  test('a limit is a RateLimitedError with the time to wait', async () => {
    const { id } = await subscribe(service, { url: receiver.url, eventTypes: ['never'] })
    const failures: unknown[] = []
    for (let call = 0; call < 15; call += 1)
      await postern
        .post('/subscribers/{id}/test', { params: { id } })
        .catch((error: unknown) => failures.push(error))
    const error = failures[0]
    assert.ok(error instanceof RateLimitedError, String(error))
    assert.ok(error.retryAfter !== undefined && error.retryAfter > 0)
  })

  async function countRows(table: 'products'): Promise<number> {
    const row = await service.database.reader
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return row.count
  }
})
