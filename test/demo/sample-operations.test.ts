// Demo mode has API keys, jobs, refused webhooks and destinations of alerts before the newcomer makes any.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { eventually } from '../receiving/harness.ts'

interface Row {
  [field: string]: unknown
}

const readFrom =
  (service: () => TestService) =>
  async (path: string): Promise<Row[]> => {
    const response = await service().admin(path)
    assert.equal(response.status, 200, path)
    return ((await response.json()) as { data: Row[] }).data
  }

onEachEngine('samples of operations', (engine) => {
  let service: TestService
  let drop: () => Promise<void>
  const start = (databaseUrl: string) => startTestService(engine, { databaseUrl, parts: { samples: true } })
  before(async () => {
    const database = await engine.createMigratedDatabase()
    drop = () => database.drop()
    service = await start(database.url)
    await service.fetch('/login')
    await eventually(
      async () => (await readFrom(() => service)('/jobs')).length === 3,
      'the samples are filled',
    )
  })
  after(async () => {
    await service?.close()
    await drop?.()
  })
  const rows = readFrom(() => service)

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
    const jobs = await rows('/jobs')
    assert.deepEqual(
      jobs.map(({ kind, subscriberName, status }) => [kind, subscriberName, status]),
      [
        ['replay', 'Sample: accepts all', 'done'],
        ['replay', 'Sample: returns 503', 'cancelled'],
        ['reprocess', null, 'done'],
      ],
    )
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
      new Map(counts.map(({ reason, count }) => [reason, count])),
      new Map([...reasons].map((reason) => [reason, 1])),
    )
  })

  test('alerts go to this service alone, and are sent', async () => {
    const destinations = await rows('/alerts')
    const { host } = new URL(service.baseUrl)
    assert.deepEqual(
      destinations.map((one) => [one['kind'], one['host'], one['enabled']]),
      [
        ['slack', host, true],
        ['teams', host, false],
      ],
    )
    const created = await rows('/audit?action=alert.created')
    assert.deepEqual(
      created.map(({ targetName }) => targetName),
      ['Operations channel (sample)', 'On call (sample)'],
    )
    for (const { id } of destinations) {
      const answer = await service.admin(`/alerts/${String(id)}/test`, { method: 'POST' })
      assert.equal(((await answer.json()) as Row)['status'], 'sent')
    }
  })

  test('a restart adds nothing, follows the address, and brings back nothing that was deleted', async () => {
    const [slack, teams] = await rows('/alerts')
    assert.equal((await service.admin(`/alerts/${String(teams!['id'])}`, { method: 'DELETE' })).status, 204)
    const before = service.baseUrl
    await service.stop(5_000)
    service = await start(service.databaseUrl)
    assert.notEqual(service.baseUrl, before)
    const left = await rows('/alerts')
    assert.deepEqual(
      left.map(({ id, host }) => [id, host]),
      [[slack!['id'], new URL(service.baseUrl).host]],
    )
    await service.fetch('/login')
    assert.equal((await rows('/keys')).length, 3)
    assert.equal((await rows('/jobs')).length, 3)
    assert.equal((await rows('/rejected-webhooks')).length, 3)
  })
})

onEachEngine('without samples of operations', (engine) => {
  test('a project has none', async () => {
    const service = await startTestService(engine, { config: {}, parts: { samples: true } })
    const rows = readFrom(() => service)
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
      assert.deepEqual(await rows(path), [], path)
    await service.close()
  })
})
