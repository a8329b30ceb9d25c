import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { loadConfigModule } from '../../src/config/module.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { banner } from '../../src/demo/banner.ts'
import { onEachEngine, started, startedService, startReceiver, webhookSecret } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

const orders = (await loadConfigModule<PosternConfig>('examples/orders/postern.config.ts'))!

onEachEngine('examples/orders', (engine) => {
  const service = startedService(engine, () => ({
    config: orders,
    parts: { migrationsFolder: 'examples/orders/migrations' },
  }))
  const receiver = started(startReceiver)
  before(async () => {
    const { status } = await service.admin('/subscribers', { method: 'POST', json: { url: receiver.url } })
    assert.equal(status, 201)
  })

  test('an order that is reported as paid three times gives one order and one event', async () => {
    const data = { order: '42', amount: 4200 }
    const signed = samples['provider']!({
      type: 'order.paid',
      secret: webhookSecret,
      id: 'evt_1',
      now: 0,
      data,
    })
    for (let time = 0; time < 3; time += 1) {
      const response = await service.fetch('/webhooks/provider', {
        method: 'POST',
        body: signed.body,
        headers: { ...signed.headers, 'content-type': 'application/json' },
      })
      assert.equal(response.status, 200)
    }
    const [call] = await receiver.waitFor(1)
    const event = JSON.parse(call!.body.toString()) as { type: string; data: unknown }
    assert.equal(event.type, 'order.confirmed')
    assert.deepEqual(event.data, data)
    assert.deepEqual(await written(), [{ id: '42', amount: 4200 }])
    assert.equal(receiver.calls.length, 1)
  })

  test('another event of the same order, and one without an amount, change nothing and do not fail', async () => {
    const repeated = { type: 'order.paid', id: 'evt_2', data: { order: '42', amount: 1 } }
    for (const event of [repeated, { type: 'order.paid', id: 'evt_3', amount: 4200 }]) {
      assert.equal((await postWebhook(service, event)).status, 200)
      await eventually(async () => (await statusOf(event.id)) === 'processed', event.id)
    }
    assert.deepEqual(await written(), [{ id: '42', amount: 4200 }])
  })

  test("the banner's command is handled", async () => {
    const text = banner({
      configuration: readEnvironment({ WEBHOOK_SECRET: webhookSecret }),
      stored: [],
      fresh: false,
      baseUrl: service.baseUrl,
      secretsFile: '',
    })
    const [, signature, body] = /'x-signature: (\w+)' -d '(.+)'$/m.exec(text)!
    assert.equal((await postWebhook(service, body!, { 'x-signature': signature! })).status, 200)
    const { id } = JSON.parse(body!) as { id: string }
    await eventually(async () => (await statusOf(id)) === 'processed', id)
    assert.equal((await written()).length, 2)
  })

  async function written(): Promise<unknown[]> {
    const { rows } = await sql`select id, amount from orders order by id`.execute(service.database.reader)
    return rows.map((row) => structuredClone(row))
  }

  async function statusOf(eventId: string): Promise<string | undefined> {
    const { data } = (await (await service.fetch('/events?limit=100')).json()) as AnswerTo<'GET /events'>
    return data.find((event) => event.eventId === eventId)?.status
  }
})
