// What an administrator sees of the configured identity providers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { startHonestProvider } from '../attacks/honest-provider.ts'
import { Browser, freePort, onEachEngine, started, startOAuthProvider } from '../harness/index.ts'
import { startTestService } from '../harness/service.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { signIn, upToCallback } from './harness.ts'

type Provider = AnswerTo<'GET /providers'>['data'][number]

onEachEngine('the list of providers', (engine) => {
  let shift = 0
  const plain = started(startOAuthProvider)
  const openid = started(startHonestProvider)
  const service = started(async () =>
    startTestService(engine, {
      env: {
        ...plain.env('ACME'),
        ...openid.env('OIDC'),
        GONE_ISSUER: `http://127.0.0.1:${await freePort()}`,
        GONE_CLIENT_ID: 'gone-client',
        GONE_CLIENT_SECRET: 'gone-secret',
        ALLOW_PRIVATE_NETWORK: 'true',
      },
      config: {
        login: {
          providers: {
            acme: { updateProfile: true },
            oidc: { allowedEmailDomains: ['example.com'], roles: { admin: ['operators'] } },
          },
        },
      },
      parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
    }),
  )

  async function list(): Promise<Map<string, Provider>> {
    const response = await service.admin('/providers')
    const text = await response.text()
    assert.equal(response.status, 200, text)
    assert.doesNotMatch(text, /gone-secret|"(clientSecret|secret)"/)
    return new Map((JSON.parse(text) as { data: Provider[] }).data.map((one) => [one.name, one]))
  }
  const check = (name: string): Promise<Response> =>
    service.admin(`/providers/${name}/check`, { method: 'POST' })

  test('names kind, callback URL and rules of each, and no secret', async () => {
    const providers = await list()
    assert.deepEqual([...providers.keys()].toSorted(), ['acme', 'demo', 'gone', 'oidc'])
    const { acme, oidc, gone, demo } = Object.fromEntries(providers)
    assert.deepEqual([acme!.kind, acme!.issuer], ['oauth', null])
    assert.equal(acme!.callbackUrl, `${service.baseUrl}/auth/acme/callback`)
    assert.equal(acme!.rules['updateProfile'], true)
    assert.equal(gone!.clientId, 'gone-client')
    assert.deepEqual([demo!.kind, demo!.builtIn, oidc!.builtIn], ['openid', true, false])
    assert.deepEqual(
      [oidc!.rules['allowedEmailDomains'], oidc!.rules['adminGroups'], oidc!.rules['allowedGroups']],
      [['example.com'], ['operators'], []],
    )
  })

  test('counts sign-ins of the last day and week, and users', async () => {
    const of = async () => (await list()).get('acme')!
    assert.deepEqual((await of()).signIns.week, { ok: 0, failed: 0 })
    plain.profile = { id: 'ann' }
    await signIn(service, new Browser())
    await signIn(service, new Browser())
    const browser = new Browser()
    const own = await upToCallback(service, browser)
    own.searchParams.delete('code')
    own.searchParams.set('error', 'server_error')
    await browser.go(own)
    const now = await of()
    assert.deepEqual(now.signIns, { day: { ok: 2, failed: 1 }, week: { ok: 2, failed: 1 } })
    assert.equal(now.users, 1)
    shift = 25 * 3_600_000
    assert.deepEqual((await of()).signIns, { day: { ok: 0, failed: 0 }, week: { ok: 2, failed: 1 } })
    shift = 8 * 86_400_000
    assert.deepEqual((await of()).signIns.week, { ok: 0, failed: 0 })
    shift = 0
    assert.deepEqual((await list()).get('oidc')!.signIns.week, { ok: 0, failed: 0 })
  })

  test('a check says what was found, is kept, and has an audit entry', async () => {
    assert.equal((await list()).get('oidc')!.lastCheck, null)
    const found = (await (await check('oidc')).json()) as { state: string; text: string }
    assert.equal(found.state, 'ok', found.text)
    assert.match(found.text, /can be reached/)
    assert.equal(((await (await check('demo')).json()) as { state: string }).state, 'ok')
    const gone = (await (await check('gone')).json()) as { state: string; text: string }
    assert.equal(gone.state, 'fault')
    assert.match(gone.text, /\.well-known\/openid-configuration cannot be read/)
    const kept = (await list()).get('gone')!.lastCheck!
    assert.deepEqual([kept.state, kept.text], [gone.state, gone.text])
    const { data } = (await (await service.admin('/audit?action=provider.checked&provider=gone')).json()) as {
      data: { detail: { state: string } }[]
    }
    assert.deepEqual(
      data.map(({ detail }) => detail.state),
      ['fault'],
    )
  })

  test('an unknown provider is 404; without a credential nobody reads or checks', async () => {
    assert.equal((await check('nobody')).status, 404)
    assert.equal((await service.fetch('/providers')).status, 401)
    assert.equal((await service.fetch('/providers/acme/check', { method: 'POST' })).status, 401)
  })
})
