// Demo mode fills the lists of the dashboard at the first start, and ticks off no step of the newcomer by that.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { adminKey, startTestService, type TestService } from '../harness/service.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

interface Row {
  [field: string]: unknown
}

onEachEngine('sample events', (engine) => {
  let service: TestService
  const start = async (databaseUrl: string): Promise<TestService> => {
    const started = await startTestService(engine, { databaseUrl, parts: { samples: true } })
    await started.fetch('/login')
    return started
  }
  let drop: () => Promise<void>

  before(async () => {
    const database = await engine.createMigratedDatabase()
    drop = () => database.drop()
    service = await start(database.url)
  })
  after(async () => {
    await service?.close()
    await drop?.()
  })

  const rows = async (path: string): Promise<Row[]> => {
    const response = await service.admin(path)
    assert.equal(response.status, 200, path)
    return ((await response.json()) as { data: Row[] }).data
  }
  const doneSteps = async (): Promise<string[]> => {
    const response = await service.admin('/checklist')
    const { steps } = (await response.json()) as { steps: { id: string; done: boolean }[] }
    return steps.filter(({ done }) => done).map(({ id }) => id)
  }
  const countEvents = async (): Promise<number> => (await rows('/events?limit=100')).length

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
    assert.deepEqual(
      (await rows('/sources')).map(({ name }) => name),
      ['provider', 'shop'],
    )
    assert.deepEqual(
      (await rows('/owners')).map(({ owner }) => owner),
      ['acme'],
    )
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

  test('a restart adds nothing, and ticks off nothing by what the first process has recorded', async () => {
    await service.stop(5_000)
    const [subscriber] = await restart()
    assert.match(String(subscriber?.['url']), new RegExp(`^${service.baseUrl}/demo/`), 'the new address')
    assert.equal(await countEvents(), 17)
    assert.deepEqual(await doneSteps(), [])
  })

  test("the newcomer's own webhook and event tick off steps", async () => {
    await postWebhook(service, { id: 'own', type: 'order.paid' })
    await service.fetch('/events', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'order.shipped', data: {} }),
    })
    await eventually(async () => (await doneSteps()).length === 2)
    assert.deepEqual(await doneSteps(), ['webhook', 'delivery'])
  })

  async function restart(): Promise<Row[]> {
    service = await start(service.databaseUrl)
    return rows('/subscribers')
  }
})

onEachEngine('without sample events', (engine) => {
  for (const [name, config] of [
    ['handlers of its own', { receiving: { handlers: {} } }],
    ['event types of its own', { emitting: { undeclaredTypes: 'refuse' as const } }],
  ] as const)
    test(`a project with ${name} has none`, async () => {
      const service = await startTestService(engine, { config, parts: { samples: true } })
      const answer = await service.admin('/events')
      assert.deepEqual(((await answer.json()) as { data: Row[] }).data, [])
      assert.equal((await service.admin('/sources/shop')).status, 404)
      await service.close()
    })
})
