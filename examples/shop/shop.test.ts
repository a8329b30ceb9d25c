import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestKit, type TestKit } from 'postern/testing'
import config from './postern.config.ts'

let kit: TestKit
before(async () => {
  kit = await startTestKit(config, { migrations: 'migrations' })
})
after(() => kit.close())

const session = {
  id: 'cs_1',
  client_reference_id: 'ada',
  amount_total: 4200,
  currency: 'eur',
  payment_status: 'paid',
}

test('a paid session creates one order and one event, however often Stripe sends it', async () => {
  const webhook = { id: 'evt_1', type: 'checkout.session.completed', data: session }
  const first = await kit.receive('stripe', webhook)
  assert.equal(first.error, undefined)
  assert.deepEqual(
    first.emitted.map(({ data }) => data),
    [{ order: 'cs_1', amount: 4200, currency: 'eur' }],
  )
  for (let time = 0; time < 4; time++) await kit.receive('stripe', webhook)
  const orders = await kit.db.selectFrom('orders').select(['id', 'customer']).execute()
  assert.deepEqual(
    orders.map(({ id, customer }) => [id, customer]),
    [['cs_1', 'ada']],
  )
})

test('an unpaid session creates no order until it is paid', async () => {
  const unpaid = { ...session, id: 'cs_2', payment_status: 'unpaid' }
  const started = await kit.receive('stripe', { type: 'checkout.session.completed', data: unpaid })
  assert.deepEqual(started.emitted, [])
  const paid = { ...unpaid, payment_status: 'paid' }
  const arrived = await kit.receive('stripe', {
    type: 'checkout.session.async_payment_succeeded',
    data: paid,
  })
  assert.equal(arrived.emitted.length, 1)
})
