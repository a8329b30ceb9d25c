// Codes that an attacker took, replays or injects.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, onEachEngine, rowIn, started } from '#test/harness/index.ts'
import { newPkce } from '../login/harness.ts'
import { codeOf, exchangeCode, isLive, postForm, sessionOf, signInApp } from '../oauth2/app-sessions.ts'
import { answerOf, authorizeUrl, callback, secret, token } from '../oauth2/harness.ts'
import { assertErrorAtApp, assertRecorded, newestAudit, startAttackedProvider } from './provider-harness.ts'

const second = 'https://app.example.com/second'
const otherSecret = 'another-secret-of-thirty-two-chars'
const web = { id: 'web', redirectUris: [callback, second], secret }
const other = { id: 'other', redirectUris: [callback], secret: otherSecret }

onEachEngine('codes in the hands of an attacker', (engine) => {
  const attacked = started(() =>
    startAttackedProvider(engine, {
      clients: [
        web,
        other,
        { id: 'spa', redirectUris: [callback] },
        { id: 'spa-2', redirectUris: [callback] },
      ],
    }),
  )

  type Fields = Record<string, string>
  const secrets: Fields = { web: secret, other: otherSecret }
  const redeem = (fields: Fields): ReturnType<typeof token> => {
    const known = secrets[fields['client_id']!]
    return token(attacked.service, {
      grant_type: 'authorization_code',
      redirect_uri: callback,
      ...(known !== undefined && { client_secret: known }),
      ...fields,
    })
  }
  /** The exchange fails, issues nothing, and is recorded. */
  async function assertRefused(fields: Fields, client = fields['client_id']): Promise<void> {
    const entry = { action: 'tokens.refused', code: 'invalid-grant', target: `app:${client}` }
    await assertRecorded(attacked, entry, async () => {
      const { status, body, headers } = await redeem(fields)
      assert.deepEqual([status, body['error']], [400, 'invalid_grant'], JSON.stringify(body))
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.deepEqual(Object.keys(body).toSorted(), ['error', 'error_description'])
    })
  }
  /** Whose audit log has the newest entry. */
  const recordedFor = async () => (await newestAudit(attacked.service)).user_id
  const victimId = async () =>
    (await rowIn(attacked.service, 'identities', { provider_id: 'victim' })).user_id
  const newCode = async (clientId: string): Promise<{ code: string; verifier: string }> => {
    const browser = await attacked.browserOf('victim')
    const { code, pkce } = await codeOf(attacked.service, browser, clientId, 'openid')
    return { code, verifier: pkce.verifier }
  }

  for (const [clientId, thief] of [
    ['web', 'other'],
    ['web', 'spa'],
    ['spa', 'spa-2'],
    ['spa', 'web'],
  ] as const)
    test(`the code of ${clientId} at ${thief}, which cannot use it up`, async () => {
      const { code, verifier } = await newCode(clientId)
      await assertRefused({ client_id: thief, code, code_verifier: verifier })
      assert.equal(await recordedFor(), await victimId())
      const { status, body } = await redeem({ client_id: clientId, code, code_verifier: verifier })
      assert.equal(status, 200, JSON.stringify(body))
    })

  test("a used code at other apps does not end its app's sign-in", async () => {
    const { code, verifier } = await newCode('web')
    const { body } = await redeem({ client_id: 'web', code, code_verifier: verifier })
    const accessToken = String(body['access_token'])
    for (const thief of ['spa', 'spa-2', 'other']) {
      await assertRefused({ client_id: thief, code, code_verifier: verifier })
      await assertRefused({ client_id: thief, code, code_verifier: newPkce().verifier })
    }
    assert.equal(await isLive(attacked.service, { accessToken }), true)
    const refresh = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
    const again = await token(attacked.service, { ...refresh, client_id: 'web', client_secret: secret })
    assert.equal(again.status, 200)
  })

  test('another redirect URI of the same app, also one that differs only in its writing', async () => {
    for (const redirectUri of [
      second,
      `${callback}/`,
      `${callback}?`,
      callback.toUpperCase(),
      `${callback}#`,
    ]) {
      const { code, verifier } = await newCode('web')
      await assertRefused({ client_id: 'web', code, code_verifier: verifier, redirect_uri: redirectUri })
      await assertRefused({ client_id: 'web', code, code_verifier: verifier })
    }
  })

  test('a wrong verifier, and the one of another sign-in, which use the code up', async () => {
    for (const wrong of [newPkce().verifier, (await newCode('spa')).verifier]) {
      const { code, verifier } = await newCode('spa')
      await assertRefused({ client_id: 'spa', code, code_verifier: wrong })
      assert.equal(await recordedFor(), await victimId())
      await assertRefused({ client_id: 'spa', code, code_verifier: verifier })
    }
  })

  test('the challenge in place of the verifier', async () => {
    const pkce = newPkce()
    const browser = await attacked.browserOf('victim')
    const { code } = await answerOf(attacked.service, browser, {}, pkce)
    await assertRefused({ client_id: 'spa', code: code!, code_verifier: pkce.challenge })
  })

  test('no verifier: a public app must send one, a confidential one if it sent a challenge', async () => {
    const spa = await newCode('spa')
    await assertRecorded(attacked, undefined, async () => {
      const { status, body } = await redeem({ client_id: 'spa', code: spa.code })
      assert.deepEqual([status, body['error']], [400, 'invalid_request'])
    })
    const { code } = await newCode('web')
    await assertRefused({ client_id: 'web', code })
  })

  test('PKCE downgrade: a verifier for a code without a challenge', async () => {
    const browser = await attacked.browserOf('victim')
    const without = { client_id: 'web', code_challenge: undefined, code_challenge_method: undefined }
    const { code } = await answerOf(attacked.service, browser, without)
    await assertRefused({ client_id: 'web', code: code!, code_verifier: newPkce().verifier })
  })

  test('malformed codes and verifiers', async () => {
    const { code } = await newCode('spa')
    for (const verifier of ['', 'short', 'x'.repeat(129), `${'x'.repeat(43)}\u0000`, 'é'.repeat(43)]) {
      const { status, body } = await redeem({ client_id: 'spa', code, code_verifier: verifier })
      assert.deepEqual([status, body['error']], [400, 'invalid_request'])
    }
    for (const wrong of ['\u0000', 'x'.repeat(30_000), '\uD800', `${code}\n`, '__proto__']) {
      await assertRefused({ client_id: 'spa', code: wrong, code_verifier: newPkce().verifier })
      assert.equal(await recordedFor(), null)
    }
  })

  test('a replay by its own app, also with a wrong verifier, ends the tokens of the first exchange', async () => {
    for (const replayed of ['', newPkce().verifier]) {
      const { code, verifier } = await newCode('web')
      const fields = { client_id: 'web', code, code_verifier: verifier }
      const first = await redeem(fields)
      assert.equal(first.status, 200)
      const accessToken = String(first.body['access_token'])
      await assertRefused({ ...fields, code_verifier: replayed || verifier })
      const revoked = await attacked.service.database.reader
        .selectFrom('audit_log')
        .select(['target', 'detail'])
        .where('action', '=', 'tokens.revoked')
        .orderBy('seq', 'desc')
        .executeTakeFirstOrThrow()
      assert.equal(revoked.target, 'app:web')
      assert.match(String(revoked.detail), /reuse/)
      assert.equal(await isLive(attacked.service, { accessToken }), false)
      const refreshed = await token(attacked.service, {
        grant_type: 'refresh_token',
        refresh_token: String(first.body['refresh_token']),
        client_id: 'web',
        client_secret: secret,
      })
      assert.equal(refreshed.body['error'], 'invalid_grant')
    }
  })

  test('twenty exchanges at once: one at most gets tokens, and they are revoked', async () => {
    const { code, verifier } = await newCode('spa')
    const exchange = (): ReturnType<typeof token> =>
      redeem({ client_id: 'spa', code, code_verifier: verifier })
    const answers = await Promise.all(Array.from({ length: 20 }, exchange))
    const won = answers.filter(({ status }) => status === 200)
    assert.equal(won.length, 1)
    assert.ok(answers.every(({ status }) => status === 200 || status === 400))
    const accessToken = String(won[0]!.body['access_token'])
    assert.equal(await isLive(attacked.service, { accessToken }), false)
  })

  test('a code after its minute', async () => {
    const { code, verifier } = await newCode('spa')
    attacked.pass(60_000)
    await assertRefused({ client_id: 'spa', code, code_verifier: verifier })
  })

  test('a code after the sign-out, the end of all sessions, and the block of the user', async () => {
    const { service } = attacked
    const ends: [string, (browser: Browser, userId: string) => Promise<unknown>][] = [
      ['sign-out', (browser) => postForm(service, browser, '/auth/logout', {})],
      [
        'all sessions',
        (_browser, userId) => service.admin(`/users/${userId}/sessions`, { method: 'DELETE' }),
      ],
      [
        'block',
        (_browser, id) => service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } }),
      ],
    ]
    for (const [how, end] of ends) {
      const browser = await attacked.browserOf(`ended by ${how}`)
      const { userId } = (await sessionOf(service, browser))!
      const { code, pkce } = await codeOf(service, browser, 'spa', 'openid')
      const answer = (await end(browser, userId)) as Response
      assert.ok(answer.status < 400, `${how}: ${answer.status}`)
      await assertRefused({ client_id: 'spa', code, code_verifier: pkce.verifier })
    }
  })

  test('a removed challenge, `plain`, and a method without a challenge at the authorization endpoint', async () => {
    const browser = await attacked.browserOf('downgraded')
    for (const [clientId, more] of [
      ['spa', { code_challenge: undefined, code_challenge_method: undefined }],
      ['spa', { code_challenge_method: 'plain' }],
      ['spa', { code_challenge_method: undefined }],
      ['spa', { code_challenge: '' }],
      ['web', { code_challenge_method: 'plain' }],
      ['web', { code_challenge_method: undefined }],
      ['web', { code_challenge: undefined }],
      ['web', { code_challenge: 'x'.repeat(42) }],
      ['web', { code_challenge_method: 's256' }],
    ] as const) {
      const url = authorizeUrl(attacked.service, { client_id: clientId, ...more })
      await assertErrorAtApp(attacked, { browser, url, error: 'invalid_request' })
    }
  })

  test('names that every object has, as grant_type, client_id, code and scope', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const { body: grant } = await token(attacked.service, { grant_type: name, client_id: 'spa' })
      assert.equal(grant['error'], 'unsupported_grant_type')
      const client = await redeem({ client_id: name, code: 'x' })
      assert.deepEqual([client.status, client.body['error']], [401, 'invalid_client'])
    }
    for (const json of [
      '{"__proto__":{"client_id":"spa"},"grant_type":"authorization_code"}',
      '{"constructor":{"prototype":{"client_id":"spa"}},"grant_type":"refresh_token"}',
      '{"grant_type":["authorization_code"],"client_id":"spa"}',
      '{"grant_type":{"a":1},"client_id":{"b":2}}',
      '[]',
      '"grant_type"',
      'null',
    ]) {
      const answer = await attacked.service.fetch('/oauth2/token', {
        method: 'POST',
        body: json,
        headers: { 'content-type': 'application/json' },
      })
      assert.ok([400, 401].includes(answer.status), `${json}: ${answer.status}`)
      assert.equal(((await answer.json()) as Fields)['access_token'], undefined)
    }
  })

  test('an answer of this service to one app, played to another: iss tells the issuer, and the code is not of it', async () => {
    // The attacker's app gets the code of a victim, and sends it to the redirect URI of the honest app with that app's state.
    const { code, verifier } = await newCode('other')
    await assertRefused({ client_id: 'web', code, code_verifier: verifier })
    const victim = await attacked.browserOf('victim')
    const honest = await signInApp(attacked.service, victim, web)
    assert.ok(await isLive(attacked.service, honest))
    const { iss } = await answerOf(attacked.service, victim, { client_id: 'other' })
    assert.equal(iss, attacked.service.baseUrl)
    const mine = await exchangeCode(
      attacked.service,
      web,
      await codeOf(attacked.service, victim, 'web', 'openid'),
    )
    assert.equal(mine.status, 200)
  })
})
