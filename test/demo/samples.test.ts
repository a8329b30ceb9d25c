// Demo mode fills the pages of the dashboard at the first start, and ticks off no step of the newcomer by that.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Browser, each, engines, fields, onEachEngine, started } from '../harness/index.ts'
import { adminKey, startTestService, type TestService } from '../harness/service.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

interface Row {
  [field: string]: unknown
}

const readFrom =
  (service: () => TestService) =>
  async (path: string): Promise<{ data: Row[] } & Row> => {
    const response = await service().admin(path)
    assert.equal(response.status, 200, path)
    return (await response.json()) as { data: Row[] } & Row
  }

onEachEngine('samples of demo mode', (engine) => {
  let service: TestService
  const home = started(() => engine.createMigratedDatabase())
  const start = async (): Promise<void> => {
    service = await startTestService(engine, { databaseUrl: home.url, parts: { samples: true } })
    await service.fetch('/login')
  }
  before(async () => {
    await start()
    await eventually(async () => (await rows('/jobs')).length === 3, 'the samples are filled')
  })
  after(() => service?.close())

  const read = readFrom(() => service)
  const rows = async (path: string): Promise<Row[]> => (await read(path)).data
  const doneSteps = async (): Promise<string[]> => {
    const response = await service.admin('/checklist')
    const { steps } = (await response.json()) as { steps: { id: string; done: boolean }[] }
    return steps.filter(({ done }) => done).map(({ id }) => id)
  }
  const countEvents = async (): Promise<number> => (await rows('/events?limit=100')).length

  const people = async (): Promise<Map<unknown, Row>> =>
    new Map((await read('/users?limit=100')).data.map((row) => [row['name'], row]))
  const userId = async (name: string): Promise<string> => String((await people()).get(name)!['id'])

  test('the first start fills every list', async () => {
    await eventually(async () => {
      const deliveries = await rows('/deliveries?limit=100')
      const groups = await rows('/failures')
      const jobs = await rows('/jobs')
      return (
        deliveries.filter(({ status }) => status === 'delivered').length === 7 &&
        groups.length > 0 &&
        jobs.length === 3
      )
    })
    assert.equal((await rows('/deliveries?limit=100')).length, 14)
    const [group] = await rows('/failures')
    assert.equal(group?.['handler'], 'sample.stock.*')
    assert.equal(group?.['message'], 'The stock of … is unknown')
    assert.deepEqual(each(await rows('/sources'), 'name'), ['provider', 'shop'])
    assert.deepEqual(each(await rows('/owners'), 'owner'), ['acme'])
    assert.equal((await rows('/handlers')).length, 2)
    assert.equal((await rows('/subscribers')).length, 3)
    assert.equal(await countEvents(), 17, 'ten received, seven emitted')
  })

  test('the subscriber that is down shows as failing, the other as active', async () => {
    const failing = await eventually(async () => {
      const found = await rows('/subscribers?state=failing')
      return found.length > 0 ? found : undefined
    })
    assert.deepEqual(
      failing.map(({ url }) => new URL(String(url)).pathname),
      ['/demo/acme/down'],
    )
  })

  test('no step is done by the samples', async () => {
    assert.deepEqual(await doneSteps(), [])
  })

  test('there are several people with roles, and one is blocked', async () => {
    const all = await people()
    assert.equal(all.size, 7)
    assert.deepEqual(
      each(
        [...all.values()].filter(({ role }) => role === 'admin'),
        'name',
      ),
      ['Ada Lovelace', 'Grace Hopper'],
    )
    const blocked = await read('/users?blocked=true')
    assert.deepEqual(each(blocked.data, 'name'), ['Charles Babbage'])
  })

  test('they have identities, devices and a history', async () => {
    const grace = await userId('Grace Hopper')
    const identities = (await read(`/users/${grace}/identities`)).data
    assert.equal(identities.length, 1)
    const devices = (await read(`/users/${grace}/sessions`)).data
    assert.deepEqual(new Set(each(devices, 'device')), new Set(['Safari on macOS', 'Safari on iPad']))
    const actions = new Set((await read(`/audit?userId=${grace}&limit=100`)).data.map(({ action }) => action))
    for (const action of ['user.created', 'user.signed_in', 'user.role_changed'])
      assert.ok(actions.has(action), action)
    assert.deepEqual((await read(`/users/${await userId('Charles Babbage')}/sessions`)).data, [])
  })

  test('the provider and the charts count the same sign-ins', async () => {
    const [provider] = (await read('/providers')).data
    const { week } = provider!['signIns'] as { week: { ok: number; failed: number } }
    const from = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 7 * 86_400_000).toISOString()
    const history = await read(`/metrics/history?series=signIns&from=${from}`)
    const { ok, failed } = (history['series'] as { signIns: { total: { ok: number; failed: number } } })
      .signIns.total
    assert.deepEqual([ok, failed], [week.ok, week.failed])
    assert.ok(ok > 10)
    assert.equal(failed, 2)
  })

  test('a person of the samples signs in to their account; a blocked one cannot', async () => {
    const before = (await people()).size
    assert.equal(await signIn({ person: 'grace' }), 'dashboard')
    assert.equal(await signIn({ name: 'Charles Babbage' }), 'account-blocked')
    assert.equal((await people()).size, before)
  })

  test('API keys: one in use, one that expires soon, one that is revoked', async () => {
    const keys = await rows('/keys')
    assert.deepEqual(
      keys.map(({ name, revokedAt }) => [name, revokedAt !== null]),
      [
        ['Shop back end (sample)', false],
        ['Nightly export (sample)', false],
        ['First integration (sample)', true],
      ],
    )
    const attention = await rows('/attention')
    assert.deepEqual(
      attention.filter(({ kind }) => kind === 'key-expires').map(({ about }) => (about as Row)['id']),
      [keys[1]!['id']],
    )
    const actions = (await rows('/audit?limit=100&action=key.created')).map(({ targetName }) => targetName)
    assert.deepEqual(new Set(actions), new Set(keys.map(({ name }) => name)))
  })

  test('no part of a key that is shown is a credential', async () => {
    const prefixes = (await rows('/keys')).map(({ prefix }) => String(prefix))
    assert.equal(new Set(prefixes).size, prefixes.length, 'the secrets are random')
    for (const key of prefixes) {
      const answer = await service.fetch('/keys', { headers: { authorization: `Bearer ${key}` } })
      assert.equal(answer.status, 401)
    }
  })

  test('jobs of both kinds, of which one was cancelled', async () => {
    const jobs = await eventually(async () => {
      const found = await rows('/jobs')
      return found.some(({ status }) => status === 'running') ? undefined : found
    })
    assert.deepEqual(fields(jobs, 'kind', 'subscriberName', 'status'), [
      ['replay', 'Sample: accepts all', 'cancelled'],
      ['replay', 'Sample: returns 503', 'done'],
      ['reprocess', null, 'done'],
    ])
  })

  test('refused webhooks, with reasons that the source gives and counts that agree with them', async () => {
    const refused = await eventually(async () => {
      const found = await rows('/rejected-webhooks?source=shop')
      return found.length === 3 ? found : undefined
    }, 'three webhooks are rejected')
    const reasons = new Set(refused.map(({ reason }) => reason))
    assert.deepEqual(reasons, new Set(['signature-missing', 'signature-wrong', 'malformed']))
    assert.ok(
      refused.every(({ detail, headers }) => detail !== '' && !/[\da-f]{64}/.test(JSON.stringify(headers))),
    )
    const counts = await rows('/rejected-webhooks/counts')
    assert.deepEqual(
      new Map(fields(counts, 'reason', 'count')),
      new Map([...reasons].map((reason) => [reason, 1])),
    )
  })

  test('alerts go to this service alone, and are sent', async () => {
    const destinations = await rows('/alerts')
    const { host } = new URL(service.baseUrl)
    assert.deepEqual(fields(destinations, 'kind', 'host', 'enabled'), [
      ['slack', host, true],
      ['teams', host, false],
    ])
    const created = await rows('/audit?action=alert.created')
    assert.deepEqual(each(created, 'targetName'), ['Operations channel (sample)', 'On call (sample)'])
    for (const { id } of destinations) {
      const answer = await service.admin(`/alerts/${String(id)}/test`, { method: 'POST' })
      assert.equal(((await answer.json()) as Row)['status'], 'sent')
    }
  })

  test('a restart adds nothing, follows the address, brings back nothing that was deleted, and ticks off no step', async () => {
    const [slack, teams] = await rows('/alerts')
    assert.equal((await service.admin(`/alerts/${String(teams!['id'])}`, { method: 'DELETE' })).status, 204)
    const before = service.baseUrl
    const done = await doneSteps()
    await service.stop(5_000)
    await start()
    assert.notEqual(service.baseUrl, before)
    const left = await rows('/alerts')
    assert.deepEqual(fields(left, 'id', 'host'), [[slack!['id'], new URL(service.baseUrl).host]])
    const [subscriber] = await rows('/subscribers')
    assert.match(String(subscriber?.['url']), new RegExp(`^${service.baseUrl}/demo/`), 'the new address')
    assert.equal(await countEvents(), 17)
    for (const path of ['/keys', '/jobs', '/rejected-webhooks']) assert.equal((await rows(path)).length, 3)
    assert.deepEqual(await doneSteps(), done)
  })

  test("the newcomer's own webhook and event tick off steps", async () => {
    const before = await doneSteps()
    await postWebhook(service, { id: 'own', type: 'order.paid' })
    await service.fetch('/events', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'order.shipped', data: {} }),
    })
    const steps = await eventually(async () => {
      const more = (await doneSteps()).filter((id) => !before.includes(id))
      return more.length === 2 ? more : undefined
    }, 'two more steps are done')
    assert.deepEqual(steps, ['webhook', 'delivery'])
  })

  /** Signs in at the provider of demo mode. Returns `dashboard`, or the code of the refusal. */
  async function signIn(form: Record<string, string>): Promise<string | null> {
    const browser = new Browser()
    const { url } = await browser.follow(new URL('/auth/demo', service.baseUrl))
    const body = new URLSearchParams(form)
    const chosen = await browser.go(url, { method: 'POST', body })
    const next = new URL(chosen.headers.get('location')!, url)
    const { url: last } = await browser.follow(next, ({ pathname }) => pathname !== '/dashboard')
    const refused = last.searchParams.get('error')
    return refused ?? 'dashboard'
  }
})

describe('without samples', () => {
  for (const [name, config] of [
    ['handlers of its own', { receiving: { handlers: {} } }],
    ['event types of its own', { emitting: { undeclaredTypes: 'refuse' as const } }],
  ] as const)
    test(`a project with ${name} has none`, async () => {
      const service = await startTestService(engines[0]!, { config, parts: { samples: true } })
      const answer = await service.admin('/events')
      assert.deepEqual(((await answer.json()) as { data: Row[] }).data, [])
      assert.equal((await service.admin('/sources/shop')).status, 404)
      await service.close()
    })

  test('a project without settings of its own has none', async () => {
    const service = await startTestService(engines[0]!, { config: {}, parts: { samples: true } })
    const read = readFrom(() => service)
    for (const path of [
      '/keys',
      '/jobs',
      '/rejected-webhooks',
      '/alerts',
      '/users',
      '/products',
      '/api/posts',
      '/subscribers',
    ])
      assert.deepEqual((await read(path)).data, [], path)
    await service.close()
  })
})
