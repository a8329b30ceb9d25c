// The device grant: somebody wants a person to sign in a device that is not theirs, or guesses codes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, findRow, onEachEngine, started } from '#test/harness/index.ts'
import { startedService, startTestService, type TestService } from '#test/harness/service.ts'
import { stillMinute } from '#test/harness/minute.ts'
import { hashToken } from '../../src/crypto/secrets.ts'
import { lastAudit, postForm, sessionOf } from '../oauth2/app-sessions.ts'
import { poll, startDevice } from '../oauth2/device-harness.ts'
import { token } from '../oauth2/harness.ts'
import { assertProblem, browserOf, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const redirectUris = ['https://app.example.com/callback']
const clients = [
  { id: 'cli', name: 'Acme <b>CLI</b>', deviceGrant: true, audiences: ['https://api.example'] },
  { id: 'other', deviceGrant: true },
  { id: 'tv', deviceGrant: true, firstParty: false, audience: 'https://tv.example' },
  { id: 'spa', redirectUris },
]

onEachEngine('attacks on the sign-in of devices', (engine) => {
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients } },
  }))

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const show = (browser: Browser, code: string): Promise<Response> =>
    browser.go(new URL(`/device?user_code=${encodeURIComponent(code)}`, service.baseUrl))
  async function isPending({ device_code: code }: { device_code: string }): Promise<boolean> {
    const row = await findRow(service, 'device_codes', { device_code_hash: hashToken(code) })
    return row?.status === 'pending'
  }

  test('a complete link that somebody sent: the page warns, names app and address, and one click is not enough', async () => {
    const started = await startDevice(service, { client_id: 'cli', scope: 'openid' })
    const victim = await signedIn('phished')
    const answer = await victim.go(started.verification_uri_complete)
    const page = await answer.text()
    assert.match(answer.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
    assert.match(page, /Did someone send you this link or code\?/)
    assert.match(page, /Acme &lt;b&gt;CLI&lt;\/b&gt;/)
    assert.match(page, /127\.0\.0\.1/)
    assert.match(page, /<input type="checkbox" name="compared" value="yes">/)
    assert.doesNotMatch(page, /checked|<script/)
    const fields = { user_code: started.user_code, decision: 'allow' }
    const click = await postForm(service, victim, '/device', fields)
    assert.equal(click.status, 400)
    assert.match(await click.text(), /Compare the codes first/)
    assert.ok(await isPending(started))
  })

  test('a device cannot get an API that the page does not name', async () => {
    const asked = { client_id: 'cli', scope: 'openid', resource: 'https://api.example' }
    const started = await startDevice(service, asked)
    const page = await (await show(await signedIn('asked'), started.user_code)).text()
    assert.match(page, /APIs: <code>https:\/\/api\.example<\/code>/)
    const unnamed = await startDevice(service, { client_id: 'tv', scope: 'openid' })
    const other = await (await show(await signedIn('asked'), unnamed.user_code)).text()
    assert.match(other, /APIs: <code>https:\/\/tv\.example<\/code>/)
  })

  test('another site cannot allow a device', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const victim = await signedIn('clicked')
    const { userId, sessionId } = (await sessionOf(service, victim))!
    const fields = { user_code: started.user_code, compared: 'yes', decision: 'allow' }
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    await assertProblem(await postForm(service, victim, '/device', fields, foreign), 403, 'foreign-origin')
    const entry = await lastAudit(service, 'call.refused')
    assert.deepEqual([entry?.user_id, entry?.target], [userId, `session:${sessionId}`])
    // As browsers do it: without the cookie (SameSite=Lax).
    const without = await postForm(service, new Browser(), '/device', fields, foreign)
    await assertProblem(without, 401, 'not-signed-in')
    assert.ok(await isPending(started))
  })

  test('a link cannot allow a device', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const victim = await signedIn('linked')
    await show(victim, `${started.user_code}&compared=yes&decision=allow`)
    await victim.go(`${started.verification_uri_complete}&compared=yes&decision=allow`)
    assert.ok(await isPending(started))
  })

  test('a wrong code is refused and recorded', async () => {
    const guesser = await signedIn('guesser')
    const { userId } = (await sessionOf(service, guesser))!
    for (const code of ['BBBB-BBBB', 'x', '%00', "' or 1=1 --", 'WDJB-MJHT'.repeat(40)]) {
      const answer = await show(guesser, code)
      assert.equal(answer.status, 400, code)
      assert.match(await answer.text(), /is incorrect, was already used, or has expired/)
      const entry = await lastAudit(service, 'device.refused')
      assert.deepEqual(
        [entry?.code, entry?.user_id, entry?.actor],
        ['unknown-code', userId, `user:${userId}`],
      )
    }
  })

  test('a device code of another client is refused, and stays good for its own', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    assert.equal((await poll(service, 'other', started)).error, 'invalid_grant')
    const entry = await lastAudit(service, 'tokens.refused')
    assert.deepEqual([entry?.target, entry?.code], ['app:other', 'invalid-grant'])
    assert.equal((await poll(service, 'cli', started)).error, 'authorization_pending')
  })

  test('an app without the device grant can neither start nor poll', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const start = await service.fetch('/oauth2/device_authorization', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'spa' }),
    })
    assert.deepEqual(
      [start.status, ((await start.json()) as { error: string }).error],
      [400, 'unauthorized_client'],
    )
    assert.equal((await poll(service, 'spa', started)).error, 'unauthorized_client')
  })

  test('the user code is not a device code, and neither is stored as it is', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    for (const code of [started.user_code, started.user_code.replace('-', '')])
      assert.equal((await poll(service, 'cli', { device_code: code })).error, 'invalid_grant')
    const rows = await service.database.reader.selectFrom('device_codes').selectAll().execute()
    const text = rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n')
    assert.ok(text.includes('pending'))
    for (const code of [started.device_code, started.user_code, started.user_code.replace('-', '')])
      assert.ok(!text.includes(code))
  })

  test('a device asks for no scope beyond those of its client', async () => {
    const start = await service.fetch('/oauth2/device_authorization', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'cli', scope: 'admin' }),
    })
    assert.deepEqual(
      [start.status, ((await start.json()) as { error: string }).error],
      [400, 'invalid_scope'],
    )
  })

  test('of two polls at the same time after the approval one gets tokens', async () => {
    const started = await startDevice(service, { client_id: 'cli', scope: 'openid' })
    const browser = await signedIn('twice')
    const fields = { user_code: started.user_code, compared: 'yes', decision: 'allow' }
    await postForm(service, browser, '/device', fields)
    const polls = await Promise.all([1, 2, 3, 4].map(() => poll(service, 'cli', started)))
    assert.equal(polls.filter(({ status }) => status === 200).length, 1)
  })

  test('guesses are bounded for each session and address, polls for each code', async () => {
    await using limited = await startTestService(engine, {
      env: { ...provider.env('ACME'), RATE_LIMIT: 'on' },
      config: { login: { clients } },
      parts: { clock: stillMinute() },
    })
    const browser = new Browser()
    await signInAs(limited, browser, provider, 'bounded')
    const url = new URL('/device?user_code=BBBB-BBBB', limited.baseUrl)
    const statuses: number[] = []
    for (let guess = 0; guess < 40; guess += 1) statuses.push((await browser.go(url)).status)
    assert.equal(statuses.filter((status) => status === 400).length, 10)
    assert.equal(statuses.filter((status) => status === 429).length, 30)
    const again = new Browser()
    await signInAs(limited, again, provider, 'bounded-too')
    assert.equal((await again.go(url)).status, 429, 'another session of the same address')
    const started = await startDevice(limited, { client_id: 'cli' })
    const errors: number[] = []
    for (let call = 0; call < 25; call += 1)
      errors.push((await limitedPoll(limited, started.device_code)).status)
    assert.ok(errors.includes(429))
  })

  const limitedPoll = (limited: TestService, code: string): Promise<Response> =>
    limited.fetch('/oauth2/token', {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'cli',
        device_code: code,
      }),
    })

  test('a token request without a device code is refused', async () => {
    const fields = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'cli' }
    const { status, body } = await token(service, fields)
    assert.deepEqual([status, body['error']], [400, 'invalid_request'])
  })
})
