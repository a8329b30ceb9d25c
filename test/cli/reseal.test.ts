// A rotation of POSTERN_SECRET from A to B, as the guide has it: B,A; `postern keys reseal`; B alone.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { samples } from '../../src/receiving/samples/index.ts'
import { Keyring, sealedColumns } from '../../src/crypto/keyring.ts'
import { defineConfig } from '../../src/index.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { emit, subscribe } from '../emitting/harness.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import { Browser, freePort, onEachEngine, rowsOf, scoped, type TestDatabase } from '../harness/index.ts'
import { type OAuthProvider, startOAuthProvider } from '../harness/oauth-provider.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { startTestService, type TestService, webhookSecret } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { signIn, upToCallback } from '../login/harness.ts'
import { type Ended, postern } from './command.ts'

const a = 'the-old-master-secret-of-32-bytes-or-more'
const b = 'another-master-secret-of-32-bytes-or-more'

onEachEngine('a rotation of POSTERN_SECRET', (engine) => {
  const home = temporaryFolder()
  let database: TestDatabase
  let provider: OAuthProvider
  let receiver: Receiver
  /** The same at every start, so that a browser comes back with its cookies. */
  let port: number
  let handedOut: (token: string | undefined) => void = () => undefined
  const config = defineConfig({
    login: {
      providers: { acme: { keepTokens: true } },
      clients: [{ id: 'spa', redirectUris: ['https://app.example.com/callback'] }],
    },
    receiving: {
      handlers: {
        'need.token': {
          providerTokens: ['acme'],
          handle: async (_event, { providerToken }) =>
            handedOut(await providerToken('acme', { providerId: 'ada' })),
        },
      },
    },
  })

  before(async () => {
    database = await engine.createMigratedDatabase()
    provider = await startOAuthProvider()
    provider.profile = { id: 'ada', displayName: 'Ada' }
    receiver = await startReceiver()
    port = await freePort()
  })
  after(async () => {
    await receiver.close()
    await provider.close()
    await database.drop()
  })

  const start = (secrets: string, lines: string[] = []): Promise<TestService> =>
    startTestService(engine, {
      databaseUrl: database.url,
      config,
      env: { ...provider.env('ACME'), PORT: String(port), POSTERN_SECRET: secrets },
      parts: { log: createLog('warn', { write: (line: string) => void lines.push(line) }) },
    })
  const command = (secrets: string, ...args: string[]): Promise<Ended> =>
    postern(home, args, { DATABASE_URL: database.url, POSTERN_SECRET: secrets })

  /** Emits an event, and verifies what the subscriber gets of it as its library does. */
  async function delivers(service: TestService, secret: string): Promise<void> {
    const before = receiver.calls.length
    await emit(service, { type: 'order.paid', data: { n: before } })
    const { headers, body } = (await receiver.waitFor(before + 1))[before]!
    new Webhook(secret).verify(body, headers as Record<string, string>)
    assert.equal(headers['x-api-key'], 'key-of-the-subscriber')
  }

  async function opensTokens(service: TestService): Promise<void> {
    const token = new Promise((resolve) => (handedOut = resolve))
    const id = crypto.randomUUID()
    const sample = samples['provider']!({ type: 'need.token', secret: webhookSecret, id, now: 0, data: {} })
    const headers = { ...sample.headers, 'content-type': 'application/json' }
    const response = await service.fetch('/webhooks/provider', { method: 'POST', headers, body: sample.body })
    assert.equal(response.status, 200)
    assert.equal(await token, 'provider-access-token-4711')
  }

  test('from A to B: no value is lost, and none needs A afterwards', async () => {
    const first = await start(a)
    const { secret } = await subscribe(first, {
      url: receiver.url,
      signing: 'both',
      headers: { 'x-api-key': 'key-of-the-subscriber' },
    })
    const browser = new Browser()
    assert.equal(await signIn(first, browser), '/dashboard')
    assert.equal((await first.fetch('/.well-known/jwks.json')).status, 200)
    await delivers(first, secret)
    const underWay = new Browser()
    const callback = await upToCallback(first, underWay)
    await first.close()

    await assert.rejects(start(b), (error: Error) => {
      assert.ok(isConfigurationError(error))
      for (const named of [
        '2 in subscriber_secrets.secret',
        '1 in subscribers.headers',
        '1 in signing_keys.private_jwk',
        '1 in provider_tokens.access_token',
      ])
        assert.ok(error.message.includes(named), `${named} in ${error.message}`)
      assert.match(error.message, /Append that secret after a comma/)
      return true
    })
    const lost = await command(b, 'doctor')
    assert.equal(lost.code, 1, lost.stdout)
    assert.match(lost.stdout, /^✖ sealed values: .*2 in subscriber_secrets\.secret/m)
    const without = await command(b, 'keys', 'reseal')
    assert.equal(without.code, 1, without.stdout)
    assert.match(without.stdout, /None of the secrets decrypts .*2 in subscriber_secrets/)

    const lines: string[] = []
    const second = await start(`${b},${a}`, lines)
    assert.match(
      lines.join(''),
      /2 in subscriber_secrets\.secret.* need an older POSTERN_SECRET: run `postern keys reseal`/,
    )
    assert.match((await command(`${b},${a}`, 'doctor')).stdout, /^! sealed values: .*need an older/m)
    await delivers(second, secret)
    const done = await command(`${b},${a}`, 'keys', 'reseal')
    assert.equal(done.code, 0, done.stdout + done.stderr)
    assert.match(done.stdout, /subscriber_secrets\.secret: 2/)
    assert.match(done.stdout, /Nothing needs an older POSTERN_SECRET/)
    await delivers(second, secret)
    await opensTokens(second)
    const again = await command(`${b},${a}`, 'keys', 'reseal')
    assert.equal(again.code, 0)
    assert.match(again.stdout, /^0 values resealed$/m)
    await second.close()

    lines.length = 0
    await using third = scoped(await start(b, lines))
    assert.doesNotMatch(lines.join(''), /POSTERN_SECRET/)
    assert.match((await command(b, 'doctor')).stdout, /^✔ sealed values: /m)
    await delivers(third, secret)
    await opensTokens(third)
    assert.equal((await third.admin('/subscribers')).status, 200)
    const response = await underWay.go(callback)
    assert.equal(response.headers.get('location'), '/dashboard', 'a sign-in that was under way ends well')
  })

  test('a sign-in in progress that cannot be opened does not stop the start, and has to start again', async () => {
    const service = await start(b)
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    const foreign = new Keyring([a])
    const flow = (await rowsOf(service, 'flows', { used_at: null }))[0]!
    await service.database.transaction((tx) =>
      tx
        .updateTable('flows')
        .set({ verifier: foreign.seal('v'.repeat(43), sealedColumns.flowVerifier.context(flow)) })
        .where('state_hash', '=', flow.state_hash)
        .execute(),
    )
    await service.close()
    await using _restarted = scoped(await start(b))
    const response = await browser.go(callback)
    assert.ok(response.status < 500, String(response.status))
    assert.notEqual(response.headers.get('location'), '/dashboard')
  })
})
