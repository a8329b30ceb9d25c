// The kit that users test their handlers with.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { defineConfig, github, hmac, type PosternConfig, stripe } from '../../src/index.ts'
import { startTestKit } from '../../src/testing/index.ts'
import { scoped } from '../harness/scoped.ts'
import { each } from '../harness/fields.ts'

type Tables = { paid: { order_id: string } }

const config = defineConfig({
  receiving: {
    sources: {
      provider: hmac({ header: 'x-signature', secret: process.env['NOT_SET'] ?? '' }),
      stripe: stripe({ secret: process.env['NOT_SET'] ?? '' }),
      github: github({ secret: process.env['NOT_SET'] ?? '' }),
    },
    handlers: {
      'order.paid': async (event, { tx, emit }) => {
        const { order } = (event.payload as { data: { order: string } }).data
        await tx.withTables<Tables>().insertInto('paid').values({ order_id: order }).execute()
        emit({ type: 'order.confirmed', data: { order } })
        if (order === 'bad') throw new RangeError('no such order')
      },
    },
  },
})

const start = () =>
  startTestKit(config, { setUp: (db) => sql`create table paid (order_id text not null)`.execute(db) })

test("accepts what a sender's own library signed with the kit's secret, and says why it rejects others", async () => {
  await using kit = scoped(await start())
  const receive = (secret: string) => {
    const body = JSON.stringify({ id: 'evt_1', type: 'invoice.paid', data: { object: {} } })
    const at = Math.floor(Date.now() / 1000)
    const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
    const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${signature}` }
    return kit.receive('stripe', { headers, body })
  }
  assert.equal((await receive(kit.secret)).status, 'unhandled')
  const { status, error } = await receive('whsec_other')
  assert.deepEqual({ status, error }, { status: 'refused', error: 'stripe-signature does not match' })
})

test('runs a handler on a signed sample, and returns its writes and events', async () => {
  await using kit = scoped(await start())
  const result = await kit.receive('provider', { type: 'order.paid', data: { order: '42' } })
  assert.deepEqual(
    { ...result, emitted: result.emitted.map(({ type, data }) => ({ type, data })) },
    {
      httpStatus: 200,
      status: 'processed',
      error: undefined,
      emitted: [{ type: 'order.confirmed', data: { order: '42' } }],
    },
  )
  const { rows } = await sql<{ order_id: string }>`select order_id from paid`.execute(kit.db)
  assert.deepEqual(each(rows, 'order_id'), ['42'])
})

test('an emitted event has the exact digits of its numbers as JSON', async () => {
  await using kit = scoped(
    await startTestKit(
      defineConfig({
        receiving: {
          sources: { provider: hmac({ header: 'x-signature', secret: '' }) },
          handlers: { a: ({ payload }, { emit }) => emit({ type: 'b', data: payload }) },
        },
      }),
    ),
  )
  const result = await kit.receive('provider', { type: 'a', id: 'e1', data: { n: 9007199254740993n } })
  assert.equal(result.emitted[0]?.json, '{"id":"e1","type":"a","data":{"n":9007199254740993}}')
})

test('a throwing handler leaves nothing, and its error is returned', async () => {
  await using kit = scoped(await start())
  const result = await kit.receive('provider', { type: 'order.paid', data: { order: 'bad' } })
  assert.equal(result.status, 'failed')
  assert.match(result.error!, /RangeError: no such order/)
  assert.deepEqual(result.emitted, [])
  assert.deepEqual((await sql`select * from paid`.execute(kit.db)).rows, [])
})

test('a duplicate runs no handler; every source verifies its own sample, and refuses wrong signatures', async () => {
  await using kit = scoped(await start())
  const webhook = { type: 'order.paid', data: { order: '1' }, id: 'evt_1' }
  await kit.receive('provider', webhook)
  assert.equal((await kit.receive('provider', webhook)).status, 'processed')
  assert.equal((await sql`select * from paid`.execute(kit.db)).rows.length, 1)
  assert.equal((await kit.receive('stripe', { type: 'invoice.paid' })).httpStatus, 200)
  assert.equal((await kit.receive('github', { type: 'issues.opened' })).httpStatus, 200)
  const refused = await kit.receive('provider', { headers: { 'x-signature': '00' }, body: '{}' })
  assert.deepEqual(
    { status: refused.status, httpStatus: refused.httpStatus },
    { status: 'refused', httpStatus: 401 },
  )
  await assert.rejects(kit.receive('nobody', { type: 'a' }), /the configuration has no source nobody/)
})

test('delivers an event to a destination, and says why it failed', async () => {
  const got: string[] = []
  const destinations: NonNullable<PosternConfig['emitting']>['destinations'] = {
    queue: {
      validate: ({ name }) => (name === 'orders' ? undefined : 'There is no such queue.'),
      deliver({ id, payload, headers }, { secrets }) {
        if (secrets['token'] !== 'right') throw new Error('wrong token')
        got.push(id, headers['webhook-signature']!, payload.toString())
        return { messageId: 7 }
      },
    },
  }
  await using kit = scoped(await startTestKit({ ...config, emitting: { destinations } }))
  const sent = { settings: { name: 'orders' }, secrets: { token: 'right' }, type: 'order.paid', id: 'one' }
  const delivered = await kit.deliver('queue', { ...sent, data: { total: 1 } })
  assert.deepEqual(
    [delivered.status, delivered.error, delivered.returned],
    ['delivered', undefined, '{"messageId":7}'],
  )
  assert.equal(got[0], 'one')
  assert.match(got[1]!, /^v1,/)
  const failed = await kit.deliver('queue', { ...sent, secrets: { token: 'old' }, id: 'two' })
  assert.deepEqual([failed.status, failed.error], ['failed', 'wrong token'])
  await assert.rejects(kit.deliver('queue', { ...sent, settings: {} }), /There is no such queue\./)
  assert.equal(got.length, 3, 'an endpoint of an earlier call gets nothing')
})
