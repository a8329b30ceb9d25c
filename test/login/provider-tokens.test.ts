import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { Browser, type OAuthProvider, startOAuthProvider } from '#test/harness/index.ts'
import { onEachEngine, type TestDatabase } from '#test/harness/engines.ts'
import { startTestService, type TestService, webhookSecret } from '#test/harness/service.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Keyring, sealedColumns } from '../../src/crypto/keyring.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import type { ProviderClient } from '../../src/login/provider-client/provider-client.ts'
import { ProviderTokens } from '../../src/login/provider-tokens.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { HandlerContext } from '../../src/receiving/config.ts'
import { eventually } from '../receiving/harness.ts'
import { signIn, whoAmI } from './harness.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'

type Owner = Parameters<HandlerContext['providerToken']>[1]

onEachEngine('stored provider tokens', (engine) => {
  let provider: OAuthProvider
  let database: TestDatabase
  const services: TestService[] = []
  let shift = 0
  /** What the token endpoint gives next. */
  let issued: Record<string, unknown> = {}
  let refreshes: string[] = []
  /** What handlers got, by the webhook's id. */
  const got = new Map<string, string | undefined | Error>()

  const config = (): PosternConfig => ({
    login: { providers: { acme: { keepTokens: { scope: 'repo  calendar' } } } },
    receiving: {
      handlers: {
        'need.token': {
          providerTokens: ['acme'],
          handle: async (event, { providerToken }) => {
            const { owner } = (event.payload as { data: { owner: Owner } }).data
            const token = await providerToken('acme', owner).catch((error: unknown) => error as Error)
            got.set(event.id, token)
          },
        },
        'need.undeclared': async (event, { providerToken }) => {
          got.set(
            event.id,
            await providerToken('acme', { userId: 'x' }).catch((error: unknown) => error as Error),
          )
        },
        'need.other': {
          providerTokens: ['acme'],
          handle: async (event, { providerToken }) => {
            const token = await providerToken('other', { userId: 'x' }).catch(
              (error: unknown) => error as Error,
            )
            got.set(event.id, token)
          },
        },
      },
    },
  })

  before(async () => {
    provider = await startOAuthProvider()
    database = await engine.createMigratedDatabase()
    // Two processes on one PostgreSQL; on SQLite there is one.
    for (let count = 0; count < (engine.name === 'postgres' ? 2 : 1); count += 1) {
      const clock = { ...systemClock, now: () => Date.now() + shift }
      const env = { ...provider.env('ACME'), ...provider.env('OTHER') }
      services.push(
        await startTestService(engine, {
          env,
          config: config(),
          parts: { clock },
          databaseUrl: database.url,
        }),
      )
    }
  })
  beforeEach(() => {
    shift = 0
    refreshes = []
    issued = { access_token: 'at-1', token_type: 'Bearer', expires_in: 3600, refresh_token: 'rt-1' }
    provider.token = (request, response) => answer(request.body, response)
  })
  after(async () => {
    for (const service of services) await service.close()
    await database.drop()
    await provider.close()
  })

  function answer(body: string, response: ServerResponse): void {
    const fields = new URLSearchParams(body)
    if (fields.get('grant_type') === 'refresh_token') refreshes.push(fields.get('refresh_token')!)
    const { status = 200, ...answer } = issued
    response.writeHead(status as number, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  /** Signs somebody in; gives their id. The profile of the test provider wants its own access token. */
  async function signedIn(id: string, path = '/auth/acme'): Promise<string> {
    provider.profile = { id, displayName: id }
    const browser = new Browser()
    const kept = issued
    // The profile is read with the access token of the harness, so that is what the exchange gives.
    issued = { ...kept, access_token: 'provider-access-token-4711' }
    assert.equal(await signIn(services[0]!, browser, path), '/dashboard')
    issued = kept
    return (await whoAmI(services[0]!, browser))!.id
  }

  let number = 0
  /** Lets a handler ask for a token. */
  async function ask(
    owner: Owner,
    type = 'need.token',
    service = services[0]!,
  ): Promise<string | Error | undefined> {
    const id = `ask-${engine.name}-${(number += 1)}`
    const sample = samples['provider']!({ type, secret: webhookSecret, id, now: 0, data: { owner } })
    const headers = { ...sample.headers, 'content-type': 'application/json' }
    const init = { method: 'POST', body: sample.body, headers }
    assert.equal((await service.fetch('/webhooks/provider', init)).status, 200)
    while (!got.has(id)) await new Promise((resume) => setTimeout(resume, 5))
    return got.get(id)
  }
  const rows = () => services[0]!.database.reader.selectFrom('provider_tokens').selectAll().execute()

  test('additional scopes are requested only from the provider with keepTokens', async () => {
    const scopeOf = async (name: string): Promise<string | null> => {
      const start = await services[0]!.fetch(`/auth/${name}`)
      return new URL(start.headers.get('location')!).searchParams.get('scope')
    }
    assert.equal(await scopeOf('acme'), 'email profile repo calendar')
    assert.equal(await scopeOf('other'), 'email profile')
  })

  test('tokens are sealed, and handlers get them by user or by identity', async () => {
    const userId = await signedIn('kept')
    await signedIn('not-kept', '/auth/other')
    const all = await rows()
    assert.deepEqual(
      all.map(({ provider, provider_id }) => `${provider}:${provider_id}`),
      ['acme:kept'],
    )
    for (const bytes of [all[0]!.access_token, all[0]!.refresh_token!]) {
      const text = Buffer.from(bytes).toString('latin1')
      assert.ok(!text.includes('4711') && !text.includes('rt-1'))
    }
    assert.equal(await ask({ userId }), 'provider-access-token-4711')
    assert.equal(await ask({ providerId: 'kept' }), 'provider-access-token-4711')
    assert.equal(await ask({ userId: 'nobody' }), undefined)
    assert.deepEqual(refreshes, [])
  })

  test('a handler that does not declare the need gets none', async () => {
    assert.match(String(await ask({ userId: 'x' }, 'need.undeclared')), /declare the need/)
    assert.match(String(await ask({ userId: 'x' }, 'need.other')), /does not declare/)
  })

  test('a token near its expiry is refreshed on request, once for concurrent requests', async () => {
    const userId = await signedIn('refreshed')
    shift = 3_600_000 - 59_000
    issued = { access_token: 'at-2', token_type: 'Bearer', expires_in: 3600, refresh_token: 'rt-2' }
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        ask({ userId }, 'need.token', services[index % services.length]),
      ),
    )
    assert.deepEqual(new Set(answers), new Set(['at-2']))
    assert.deepEqual(refreshes, ['rt-1'])
    shift += 3_600_000
    issued = { access_token: 'at-3', token_type: 'Bearer', expires_in: 3600, refresh_token: '' }
    assert.equal(await ask({ userId }), 'at-3')
    shift += 3_600_000
    issued = { access_token: 'at-4', token_type: 'Bearer', expires_in: 3600 }
    assert.equal(await ask({ userId }), 'at-4')
    assert.deepEqual(refreshes, ['rt-1', 'rt-2', 'rt-2'], 'an answer without one does not lose it')
  })

  test('a later sign-in without a refresh token keeps the stored one', async () => {
    issued['refresh_token'] = 'rt-first'
    const userId = await signedIn('google-like')
    delete issued['refresh_token']
    await signedIn('google-like')
    shift = 3_600_000
    issued = { access_token: 'at-5', token_type: 'Bearer' }
    assert.equal(await ask({ userId }), 'at-5')
    assert.deepEqual(refreshes, ['rt-first'])
    shift = 30 * 86_400_000
    assert.equal(await ask({ userId }), 'at-5', 'without an end that is told it is taken as good')
  })

  test('an unstorable token response is stored with bounded values, including its refresh token', async () => {
    const before = Date.now()
    const odd = { scope: `a\0b \ud800${'😀'.repeat(2_000)}`, expires_in: 1e300 }
    issued = { ...issued, ...odd, expires_in: 0.5 }
    const userId = await signedIn('odd')
    issued = { access_token: 'at-odd', token_type: 'Bearer', refresh_token: 'rt-odd', ...odd }
    assert.equal(await ask({ userId }), 'at-odd')
    assert.deepEqual(refreshes, ['rt-1'])
    const row = (await rows()).find(({ provider_id }) => provider_id === 'odd')!
    assert.match(row.scope!, /^ab \ufffd(😀)+/u)
    assert.ok(row.scope!.length <= 2_000)
    const tenYears = 10 * 365 * 86_400_000
    assert.ok(row.expires_at! >= before + tenYears && row.expires_at! <= Date.now() + tenYears)
    shift = tenYears
    issued = { access_token: 'at-even', token_type: 'Bearer' }
    assert.equal(await ask({ userId }), 'at-even')
    assert.deepEqual(refreshes, ['rt-1', 'rt-odd'])
  })

  test('a provider that is down: an error, and the next attempt succeeds', async () => {
    const userId = await signedIn('down')
    shift = 3_600_000
    issued = { status: 503, error: 'temporarily_unavailable' }
    assert.match(String(await ask({ userId })), /could not be refreshed/)
    issued = { access_token: 'at-6', token_type: 'Bearer', expires_in: 60 }
    assert.equal(await ask({ userId }), 'at-6')
  })

  test('a withdrawn consent: no token, and no further requests', async () => {
    const userId = await signedIn('withdrawn')
    shift = 3_600_000
    issued = { status: 400, error: 'invalid_grant' }
    assert.equal(await ask({ userId }), undefined)
    assert.equal(await ask({ userId }), undefined)
    assert.equal(refreshes.length, 1)
    assert.ok(!(await rows()).some(({ provider_id }) => provider_id === 'withdrawn'))
  })

  test('unlinking deletes the tokens', async () => {
    provider.profile = { id: 'unlinked', displayName: 'x' }
    const browser = new Browser()
    issued['access_token'] = 'provider-access-token-4711'
    await signIn(services[0]!, browser)
    const { baseUrl } = services[0]!
    const start = await browser.go(new URL('/auth/other/link', baseUrl), { method: 'POST' })
    provider.profile = { id: 'unlinked-too' }
    const back = await browser.go(start.headers.get('location')!)
    await browser.go(back.headers.get('location')!)
    assert.ok((await rows()).some(({ provider_id }) => provider_id === 'unlinked'))
    await browser.go(new URL('/auth/identities/acme', baseUrl), { method: 'DELETE' })
    assert.ok(!(await rows()).some(({ provider_id }) => provider_id === 'unlinked'))
  })

  test('a handler that needs tokens that are not stored stops the start', async () => {
    const handle = (): void => undefined
    const wrong: [PosternConfig, RegExp][] = [
      [{ login: { providers: { nowhere: { keepTokens: true } } } }, /nowhere/],
      [{ receiving: { handlers: { x: { providerTokens: ['other'], handle } } } }, /login\.providers\.other/],
      [{ login: { onSignIn: {} as never } }, /login\.onSignIn/],
      [{ login: { events: ['user.exploded' as never] } }, /user\.exploded/],
    ]
    for (const [config, message] of wrong) {
      await assert.rejects(
        startTestService(engine, { env: provider.env('OTHER'), config }),
        (error) => isConfigurationError(error) && message.test(error.message),
      )
    }
  })

  test('a token that is resealed during a refresh in another process does not count as refreshed', async () => {
    await signedIn('resealed')
    shift = 3_600_000
    const { database } = services[0]!
    const row = (await rows()).find(({ provider_id }) => provider_id === 'resealed')!
    const change = (values: Partial<typeof row>) =>
      database.transaction((tx) =>
        tx.updateTable('provider_tokens').set(values).where('provider_id', '=', 'resealed').execute(),
      )
    const keyring = new Keyring(['test-master-secret-of-32-bytes-or-more'])
    const sealed = (token: string) => keyring.seal(token, sealedColumns.providerAccessToken.context(row))
    const now = Date.now() + shift
    await change({ claim: 'another process', claimed_until: now + 20_000 })
    let pauses = 0
    const tokens = new ProviderTokens({
      database,
      keyring,
      clock: {
        now: () => now,
        after(ms, callback) {
          pauses += 1
          return systemClock.after(ms, callback)
        },
      },
      log: createLog('silent'),
      // Nothing is asked of the provider: another process has the claim.
      providers: new Map([['acme', {} as ProviderClient]]),
      stored: new Map([['acme', '']]),
    })
    let answered = false
    const asked = tokens.accessToken('acme', { providerId: 'resealed' }).finally(() => (answered = true))
    await change({ access_token: sealed('provider-access-token-4711') })
    const before = pauses
    await eventually(() => answered || pauses > before + 1, 'it has looked twice')
    assert.equal(answered, false, 'it still waits for the refresh')
    await change({
      access_token: sealed('at-fresh'),
      updated_at: now,
      expires_at: now + 3_600_000,
      claim: null,
      claimed_until: null,
    })
    assert.equal(await asked, 'at-fresh')
  })
})
