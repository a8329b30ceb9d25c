import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import orders from '../../examples/orders/postern.config.ts'
import { provider } from '../../src/cli/samples/provider.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startReceiver, type Receiver } from '../harness/receiver.ts'
import { startTestService, webhookSecret, type TestService } from '../harness/service.ts'

onEachEngine('examples/orders', (engine) => {
  let service: TestService
  let receiver: Receiver

  before(async () => {
    service = await startTestService(engine, { config: orders })
    const schema = await readFile(new URL('../../examples/orders/schema.sql', import.meta.url), 'utf8')
    await service.database.transaction((tx) => sql.raw(schema).execute(tx))
    receiver = await startReceiver()
    const { status } = await service.admin('/subscribers', { method: 'POST', json: { url: receiver.url } })
    assert.equal(status, 201)
  })
  after(async () => {
    await service.close()
    await receiver.close()
  })

  test('an order that is reported paid three times is one order and one event', async () => {
    const data = { order: '42', amount: 4200 }
    const signed = provider({ type: 'order.paid', secret: webhookSecret, id: 'evt_1', now: 0, data })
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
    const { rows } = await sql`select id, amount from orders`.execute(service.database.reader)
    assert.deepEqual(
      rows.map((row) => structuredClone(row)),
      [{ id: '42', amount: 4200 }],
    )
    assert.equal(receiver.calls.length, 1)
  })
})
