// GET /search: one box for everything that has an id or a name.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { each, onEachEngine, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

type Found = AnswerTo<'GET /search'>['data'][number]

onEachEngine('GET /search', (engine) => {
  let keys: ApiKeys
  let subscriber: string
  let delivery: number
  const user = '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e'
  const session = '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5f'

  const service = startedService(engine, () => ({
    env: { ALLOW_PRIVATE_NETWORK: 'true' },
    config: {
      receiving: { handlers: { 'order.*': () => undefined } },
      emitting: { eventTypes: { 'shop.opened': { description: 'A shop opened' } } },
      login: {
        clients: [{ id: 'storefront', name: 'The storefront', redirectUris: ['http://127.0.0.1/cb'] }],
      },
    },
  }))
  before(async () => {
    keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    await postWebhook(service, { id: 'order-77', type: 'order.paid' })
    const json = { url: 'http://hooks.acme.test:9/x', owner: 'acme-inc' }
    const made = await service.admin('/subscribers', { method: 'POST', json })
    subscriber = ((await made.json()) as { id: string }).id
    await service.admin('/events', {
      method: 'POST',
      json: { id: 'shop-1', type: 'shop.opened', data: {}, audience: 'acme-inc' },
    })
    delivery = await eventually(async () => {
      const row = await service.database.reader.selectFrom('deliveries').select('id').executeTakeFirst()
      return row?.id
    })
    await service.database.transaction(async (tx) => {
      const now = Date.now()
      const provider = { provider: 'demo', provider_id: 'ada', created_at: now }
      const row = {
        id: user,
        email: 'Ada@example.com',
        name: 'Ada Lovelace',
        role: 'user',
        blocked_at: null,
      } as const
      await tx
        .insertInto('users')
        .values({ ...row, ...provider })
        .execute()
      await tx
        .insertInto('sessions')
        .values({
          id: session,
          token_hash: Buffer.alloc(32, 1),
          user_id: user,
          provider: 'demo',
          address: null,
          user_agent: null,
          created_at: now,
          last_seen_at: now,
          expires_at: now + 1e6,
          revoked_at: null,
          authenticated_at: now,
          authentication_proof: null,
          acr: null,
          amr: null,
        })
        .execute()
    })
  })

  const find = async (q: string, key?: string): Promise<Found[]> => {
    const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` }
    const path = `/search?${new URLSearchParams({ q }).toString()}`
    const response = await (headers ? service.fetch(path, { headers }) : service.admin(path))
    assert.equal(response.status, 200)
    return ((await response.json()) as { data: Found[] }).data
  }
  const firstOf = async (q: string): Promise<string> => {
    const [first] = await find(q)
    return first ? `${first.kind} ${first.id}` : ''
  }

  test('finds each kind by its id or name', async () => {
    const { id: key } = await keys.create({ name: 'nightly report', scopes: ['events:read'] }, {})
    const events = await find('order-77')
    assert.equal(events[0]!.kind, 'event')
    assert.equal(await firstOf(events[0]!.id), `event ${events[0]!.id}`)
    assert.ok(
      (await find(String(delivery))).some(({ kind, id }) => kind === 'delivery' && id === String(delivery)),
    )
    for (const [text, expected] of [
      [subscriber, `subscriber ${subscriber}`],
      ['hooks.acme', `subscriber ${subscriber}`],
      ['shop.op', 'event-type shop.opened'],
      ['provider', 'source provider'],
      ['order.*', 'handler order.*'],
      ['ada@', `user ${user}`],
      ['ADA LOVE', `user ${user}`],
      [user, `user ${user}`],
      [session, `session ${user}`],
      ['storefront', 'app storefront'],
      ['nightly', `key ${key}`],
      [key, `key ${key}`],
      ['nothing at all', ''],
      ['  ', ''],
    ] as const)
      assert.equal(await firstOf(text), expected, text)
    assert.ok((await find('acme-inc')).some(({ kind, id }) => kind === 'customer' && id === 'acme-inc'))
  })

  test('a key sees only the kinds of its scopes', async () => {
    const { key } = await keys.create({ name: 'few', scopes: ['events:read', 'webhooks:read'] }, {})
    assert.deepEqual(await find('ada@', key), [])
    assert.deepEqual(each(await find('order', key), 'kind'), ['handler'])
  })
})
