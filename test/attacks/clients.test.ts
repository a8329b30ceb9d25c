// Attacks on the authentication of apps, and on what an app may get and learn. Each is refused, and the audit log tells.
import assert from 'node:assert/strict'
import { createSecretKey, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  SignJWT,
  UnsecuredJWT,
  type CryptoKey,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose'
import { Browser, onEachEngine, started, startOAuthProvider, startReceiver } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { stillMinute } from '#test/harness/minute.ts'
import { newPkce, codeGrant } from '../login/harness.ts'
import { basic, answerOf, callback, secret, token } from '../oauth2/harness.ts'

const otherSecret = 'another-secret-of-thirty-two-chars'
const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const grant = { grant_type: 'client_credentials' }
type Json = Record<string, unknown>

onEachEngine('attacks on the authentication of apps', (engine) => {
  const trap = started(() => startReceiver())
  const provider = started(startOAuthProvider)
  let key: CryptoKey
  let publicKey: CryptoKey
  let attacker: { privateKey: CryptoKey; publicKey: CryptoKey }
  before(async () => {
    ;({ privateKey: key, publicKey } = await generateKeyPair('RS256', { extractable: true }))
    attacker = await generateKeyPair('RS256', { extractable: true })
  })
  const service = started(async () => {
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }
    return startTestService(engine, {
      env: { ...provider.env('ACME'), ALLOW_PRIVATE_NETWORK: 'true' },
      login: {
        clients: [
          { id: 'spa', redirectUris: [callback] },
          { id: 'web', redirectUris: [callback], secret },
          { id: 'other', redirectUris: [callback], secret: otherSecret },
          // Several, because the audit log keeps ten refusals of an app and address in a minute.
          ...['signer', 'judged', 'replayed', 'forged', 'typed'].map((id) => ({
            id,
            clientCredentials: true,
            jwks,
          })),
          { id: 'second', clientCredentials: true, secret, jwks },
          {
            id: 'job',
            clientCredentials: true,
            secret,
            scopes: ['events:read'],
            audiences: ['https://api.example'],
          },
        ],
      },
    })
  })

  const entries = () =>
    service.database.reader
      .selectFrom('audit_log')
      .select(['action', 'code', 'target', 'user_id', 'address'])
      .where('action', 'in', ['client.refused', 'tokens.refused'])
      .orderBy('seq')
      .execute()
  /** The call is refused with this error, and the audit log has the reason, the app and the address. */
  async function refused(
    attack: () => Promise<{ status: number; body: Json }>,
    expected: { status: number; error: string; code: string; app: string | null },
  ): Promise<void> {
    const before = (await entries()).length
    const { status, body } = await attack()
    assert.deepEqual([status, body['error']], [expected.status, expected.error], JSON.stringify(body))
    assert.equal(body['access_token'], undefined)
    const [entry] = (await entries()).slice(before)
    assert.deepEqual([entry?.code, entry?.target], [expected.code, expected.app && `app:${expected.app}`])
    assert.ok(entry?.address)
  }
  const unauthorized = { status: 401, error: 'invalid_client' }
  const now = (): number => Math.floor(Date.now() / 1000)
  const claims = (more: Record<string, unknown> = {}, id = 'signer'): JWTPayload => ({
    iss: id,
    sub: id,
    aud: service.baseUrl,
    jti: randomUUID(),
    exp: now() + 60,
    ...more,
  })
  const sign = (payload: JWTPayload, header: Partial<JWTHeaderParameters> = {}, by = key): Promise<string> =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).sign(by)
  const assertion = (text: string, more: Record<string, string> = {}) =>
    token(service, { ...grant, client_assertion_type: type, client_assertion: text, ...more })
  async function tokensOf(clientId: string, password?: string): Promise<Json> {
    provider.profile = { id: `${clientId}-person` }
    const pkce = newPkce()
    const { code } = await answerOf(service, new Browser(), { client_id: clientId }, pkce)
    const { body } = await token(
      service,
      codeGrant(code!, pkce, {
        client_id: clientId,
        ...(password !== undefined && { client_secret: password }),
      }),
    )
    return body
  }
  async function ask(path: string, about: unknown, headers: object): Promise<{ status: number; body: Json }> {
    const body = new URLSearchParams({ token: String(about) })
    const answer = await service.fetch(path, { method: 'POST', body, headers: { ...headers } })
    return { status: answer.status, body: (await answer.json()) as Json }
  }

  test('a secret from a public app', async () => {
    await refused(() => token(service, { ...grant, client_id: 'spa', client_secret: 'guessed' }), {
      ...unauthorized,
      code: 'public-client',
      app: 'spa',
    })
  })

  test('the secret of another app, an empty one, and none', async () => {
    const web = { ...unauthorized, app: 'web' }
    await refused(() => token(service, grant, basic('web', otherSecret)), { ...web, code: 'wrong-secret' })
    await refused(() => token(service, grant, basic('web', '')), { ...web, code: 'no-credentials' })
    await refused(() => token(service, { ...grant, client_id: 'web' }), { ...web, code: 'no-credentials' })
    await refused(() => token(service, grant, basic('nobody', secret)), {
      ...unauthorized,
      code: 'unknown-client',
      app: null,
    })
  })

  test('a removed secret', async () => {
    const made = await service.admin('/clients', {
      method: 'POST',
      json: { name: 'x', redirectUris: [callback], clientCredentials: true, scopes: ['orders:read'] },
    })
    const { id, secret: old } = (await made.json()) as { id: string; secret: string }
    assert.equal((await token(service, grant, basic(id, old))).status, 200)
    await service.admin(`/clients/${id}/secrets`, { method: 'POST', json: { overlapSeconds: 0 } })
    await refused(() => token(service, grant, basic(id, old)), {
      ...unauthorized,
      code: 'wrong-secret',
      app: id,
    })
  })

  test('two methods in one request, and a client_id that is not the one that authenticates', async () => {
    const twice = { status: 400, error: 'invalid_request', code: 'two-methods' }
    await refused(() => token(service, { ...grant, client_secret: secret }, basic('job', secret)), {
      ...twice,
      app: 'job',
    })
    const text = await sign(claims())
    await refused(() => assertion(text, { client_id: 'signer', client_secret: secret }), {
      ...twice,
      app: 'signer',
    })
    const other = { status: 400, error: 'invalid_request', code: 'other-client-id' }
    await refused(() => token(service, { ...grant, client_id: 'web' }, basic('job', secret)), {
      ...other,
      app: 'job',
    })
    await refused(() => assertion(text, { client_id: 'web' }), { ...other, app: 'signer' })
  })

  test('an assertion that comes twice, also at the same moment', async () => {
    const text = await sign(claims({}, 'replayed'))
    const answers = await Promise.all(Array.from({ length: 5 }, () => assertion(text)))
    assert.equal(answers.filter(({ body }) => body['access_token'] !== undefined).length, 1)
    await refused(() => assertion(text), { ...unauthorized, code: 'replayed-assertion', app: 'replayed' })
  })

  test('assertions for another audience, of another app, without an end or with a far one', async () => {
    for (const wrong of [
      { aud: 'https://other.example' },
      { aud: [service.baseUrl, 'https://other.example'] },
      { aud: `${service.baseUrl}/` },
      { aud: [] },
      { iss: 'web' },
      { exp: now() - 60 },
      { exp: now() + 86_400 },
      { exp: undefined },
      { jti: undefined },
      { nbf: now() + 600 },
    ])
      await refused(async () => assertion(await sign(claims(wrong, 'judged'))), {
        ...unauthorized,
        code: 'wrong-assertion',
        app: 'judged',
      })
  })

  test('assertions whose claims have the wrong type, and one that ends between two milliseconds', async () => {
    for (const wrong of [{ sub: ['judged'] }, { sub: { id: 'judged' } }, { sub: 7 }, { sub: null }])
      await refused(
        async () => assertion(await sign(claims({ ...wrong, iss: 'typed' })), { client_id: 'typed' }),
        {
          ...unauthorized,
          code: 'malformed-assertion',
          app: 'typed',
        },
      )
    await refused(async () => assertion(await sign(claims({ iss: ['typed'], sub: 'typed' }))), {
      ...unauthorized,
      code: 'wrong-assertion',
      app: 'typed',
    })
    const text = await sign(claims({ exp: now() + 60.123456 }, 'typed'))
    assert.equal((await assertion(text)).status, 200)
    await refused(() => assertion(text), { ...unauthorized, code: 'replayed-assertion', app: 'typed' })
  })

  test('assertions with a forged signature', async () => {
    const payload = claims({}, 'forged')
    const { jwks, trapUrl } = { jwks: await exportJWK(attacker.publicKey), trapUrl: trap.url }
    const pem = createSecretKey(Buffer.from(await exportSPKI(publicKey)))
    const forged = [
      new UnsecuredJWT(payload).encode(),
      await new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(pem),
      await sign(payload, {}, attacker.privateKey),
      await sign(payload, { jwk: jwks }, attacker.privateKey),
      await sign(payload, { jku: trapUrl }, attacker.privateKey),
      await sign(payload, { x5u: trapUrl }, attacker.privateKey),
      await sign(payload, { kid: 'unknown' }),
    ]
    for (const text of forged)
      await refused(() => assertion(text), { ...unauthorized, code: 'wrong-assertion', app: 'forged' })
    assert.equal(trap.calls.length, 0, 'an address in the header was asked')
    await refused(() => assertion('not-a-jwt', { client_id: 'forged' }), {
      ...unauthorized,
      code: 'malformed-assertion',
      app: 'forged',
    })
    await refused(async () => assertion(await sign(claims({ iss: 'web', sub: 'web' }))), {
      ...unauthorized,
      code: 'no-keys',
      app: 'web',
    })
  })

  test('more scopes, another API, and a grant that the app does not have', async () => {
    const credentials = basic('job', secret)
    const job = { status: 400, app: 'job' }
    for (const scope of ['admin', 'events:read users:write', 'openid'])
      await refused(() => token(service, { ...grant, scope }, credentials), {
        ...job,
        error: 'invalid_scope',
        code: 'scope-not-allowed',
      })
    await refused(() => token(service, { ...grant, resource: 'https://other.example' }, credentials), {
      ...job,
      error: 'invalid_target',
      code: 'audience-not-allowed',
    })
    await refused(() => token(service, grant, basic('web', secret)), {
      status: 400,
      app: 'web',
      error: 'unauthorized_client',
      code: 'grant-not-allowed',
    })
    await refused(() => token(service, { ...grant, client_id: 'spa' }), {
      status: 400,
      app: 'spa',
      error: 'unauthorized_client',
      code: 'grant-not-allowed',
    })
  })

  test('questions about the tokens of other apps, and by public apps', async () => {
    const mine = await tokensOf('web', secret)
    for (const kind of ['access_token', 'refresh_token']) {
      const before = (await entries()).length
      const told = await ask('/oauth2/introspect', mine[kind], basic('other', otherSecret))
      assert.deepEqual(told, { status: 200, body: { active: false } })
      const [entry] = (await entries()).slice(before)
      assert.deepEqual([entry?.code, entry?.target], ['other-audience', 'app:other'])
    }
    await refused(
      async () => {
        const body = new URLSearchParams({ client_id: 'spa', token: String(mine['access_token']) })
        const answer = await service.fetch('/oauth2/introspect', { method: 'POST', body })
        return { status: answer.status, body: (await answer.json()) as Json }
      },
      { ...unauthorized, code: 'public-client', app: 'spa' },
    )
  })

  test('the end of the sign-ins of other apps', async () => {
    const mine = await tokensOf('web', secret)
    const session = (): Promise<Response> =>
      service.fetch('/auth/session', { headers: { authorization: `Bearer ${String(mine['access_token'])}` } })
    for (const kind of ['access_token', 'refresh_token']) {
      const before = (await entries()).length
      const answer = await ask('/oauth2/revoke', mine[kind], basic('other', otherSecret))
      // RFC 7009, section 2.2: no error, which would tell that the token exists.
      assert.deepEqual(answer, { status: 200, body: {} })
      assert.equal((await session()).status, 200, 'the sign-in goes on')
      const [entry] = (await entries()).slice(before)
      assert.deepEqual(
        [entry?.action, entry?.code, entry?.target],
        ['tokens.refused', 'other-client', 'app:other'],
      )
      assert.ok(entry?.user_id)
    }
  })

  test('many wrong secrets: entries are bounded, and the right secret goes on to work', async () => {
    const before = (await entries()).length
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => token(service, grant, basic('second', 'wrong'))),
    )
    assert.ok(answers.every(({ status }) => status === 401))
    assert.ok((await entries()).length - before <= 20)
    assert.equal((await token(service, grant, basic('second', secret))).status, 200)
  })
})

onEachEngine('the limit of failed authentications', (engine) => {
  test('beyond it the answer is 429, while the right secret works', async () => {
    await using service = await startTestService(engine, {
      env: { RATE_LIMIT: 'on' },
      config: { login: { clients: [{ id: 'job', clientCredentials: true, secret }] } },
      parts: { clock: stillMinute() },
    })
    const call = (password: string) => token(service, { ...grant, client_id: 'job', client_secret: password })
    const statuses = new Set<number>()
    for (let i = 0; i < 130; i += 1) statuses.add((await call('wrong')).status)
    assert.deepEqual([...statuses], [401, 429])
    assert.equal((await call(secret)).status, 200)
  })
})
