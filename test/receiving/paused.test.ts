// A paused handler's events wait, other handlers go on, and nothing counts the wait as a fault.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PosternConfig } from '../../src/define-config.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { onEachEngine, startTestService, type TestService, each } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from './harness.ts'
import { dataOf } from '../emitting/harness.ts'

type Handler = AnswerTo<'GET /handlers'>['data'][number]

onEachEngine('a paused handler', (engine) => {
  let service: TestService
  let other: TestService | undefined
  let shift = 0
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const config = {
    receiving: {
      handlers: {
        'order.*': { concurrency: 2, handle: (event, { tx }) => writeEffect(tx, event.id) },
        'order.both': (event, { tx }) => writeEffect(tx, `${event.id} exact`),
        'user.*': (event, { tx }) => writeEffect(tx, event.id),
        'bad.*': () => {
          throw new Error('it is broken')
        },
      },
    },
  } satisfies PosternConfig
  before(async () => {
    const env = { INBOX_MAX_AGE: '60', HANDLER_RETRY_SCHEDULE: '0' }
    service = await startTestService(engine, { env, config, parts: { clock } })
    // A second process takes part where several share a database.
    if (engine.name === 'postgres')
      other = await startTestService(engine, {
        env,
        config,
        databaseUrl: service.databaseUrl,
        parts: { clock },
      })
    await createEffects(service.database)
  })
  after(async () => {
    await other?.close()
    await service.close()
  })

  const call = async (path: string, method = 'GET'): Promise<Handler> => {
    const answer = await service.admin(path, { method })
    assert.equal(answer.status, 200, `${method} ${path}`)
    return (await answer.json()) as Handler
  }
  const isWaiting = async (id: string): Promise<boolean> => {
    const row = await service.database.reader
      .selectFrom('event_queue')
      .select(['status', 'claim', 'attempts'])
      .where('event_id', '=', id)
      .executeTakeFirst()
    return row?.status === 'pending' && row.claim === null && row.attempts === 0
  }
  const handles = (id: string) =>
    eventually(async () => (await readEffects(service.database)).includes(id), id)
  /**
   * Lets all processes read what is paused: what they know is too old, and their readiness needs it. Twice, because the first
   * request may join a read that began before the pause.
   */
  async function allKnow(): Promise<void> {
    for (const process of [service, service, other, other]) {
      shift += 1_000
      await process?.fetch('/readyz')
    }
  }

  test('is shown with its slots, and nothing of it is claimed', async () => {
    const paused = await call('/handlers/order.*/pause', 'POST')
    assert.equal(paused.slots, 2)
    assert.equal(paused.slotsOf, 'all processes')
    assert.match(paused.paused!.by!, /^key:/)
    assert.ok(Math.abs(Date.parse(paused.paused!.at) - Date.now()) < 60_000)
    await allKnow()
    for (const id of ['o1', 'o2']) await postWebhook(service, { id, type: 'order.paid' })
    await postWebhook(service, { id: 'both', type: 'order.both' })
    await postWebhook(service, { id: 'u1', type: 'user.new' })
    await handles('u1')
    for (const id of ['o1', 'o2', 'both']) assert.ok(await isWaiting(id), id)
  })

  test('says the name of who paused it', async () => {
    assert.equal((await call('/handlers/order.*')).paused!.byName, 'ADMIN_API_KEY')
    const json = { name: 'the deploy script', scopes: ['events:read'] }
    const made = await service.admin('/keys', { method: 'POST', json })
    const { id } = (await made.json()) as { id: string }
    await service.database.transaction((tx) =>
      tx
        .updateTable('paused_handlers')
        .set({ paused_by: `key:${id}` })
        .execute(),
    )
    assert.equal((await call('/handlers/order.*')).paused!.byName, 'the deploy script')
  })

  test('pausing again changes nothing, and its events count as waiting', async () => {
    const before = await call('/handlers/order.*')
    const again = await call('/handlers/order.*/pause', 'POST')
    assert.deepEqual(again.paused, before.paused)
    assert.equal(again.waiting, 3)
    assert.equal((await call('/handlers/order.both')).paused, null)
    const { data } = (await (await service.admin('/handlers')).json()) as { data: Handler[] }
    assert.deepEqual(each(data, 'id'), ['order.*', 'order.both', 'user.*', 'bad.*'])
  })

  test('is no stall, and no reason to refuse webhooks', async () => {
    await service.database.transaction((tx) =>
      tx
        .updateTable('event_queue')
        .set({ due_at: Date.now() - 3_600_000 })
        .where('event_id', 'in', ['o1', 'o2'])
        .execute(),
    )
    assert.ok((await call('/handlers/order.*')).lagSeconds >= 3_500)
    const ready = await service.fetch('/readyz')
    assert.equal(ready.status, 200, await ready.clone().text())
    const body = (await ready.json()) as { oldestDueSeconds: { handlers: number } }
    assert.ok(body.oldestDueSeconds.handlers < 60)
    // The age of the backlog is read in the background: one of the later webhooks would be refused.
    for (const id of ['o3', 'o4', 'o5', 'o6', 'o7', 'o8']) {
      shift += 1_100
      assert.equal((await postWebhook(service, { id, type: 'order.paid' })).status, 200)
    }
  })

  test('starts at once when it is resumed', async () => {
    const resumed = await call('/handlers/order.*/resume', 'POST')
    assert.equal(resumed.paused, null)
    for (const id of ['o1', 'o2', 'o3', 'both', 'both exact']) await handles(id)
    assert.equal((await call('/handlers/order.*/resume', 'POST')).paused, null, 'again')
    const data = await dataOf<unknown>(service, '/audit?action=handler.paused')
    assert.equal(data.length, 1, 'one entry for the change')
  })

  test('handlers have a duration, an error rate and counts', async () => {
    for (const id of ['b1', 'b2']) await postWebhook(service, { id, type: 'bad.one' })
    const bad = await eventually(async () => {
      const found = await call('/handlers/bad.*')
      return found.failed === 2 && found.recent.failures >= 2 ? found : undefined
    })
    assert.equal(bad.recent.errorRate, 1)
    assert.equal(bad.recent.durationMs, null)
    const good = await eventually(async () => {
      const found = await call('/handlers/order.*')
      return found.recent.handled >= 6 ? found : undefined
    })
    assert.equal(good.recent.errorRate, 0)
    assert.ok(good.recent.durationMs! >= 0)
  })

  test('an unknown handler is not paused', async () => {
    assert.equal((await service.admin('/handlers/nobody/pause', { method: 'POST' })).status, 404)
    assert.equal((await service.admin('/handlers/nobody')).status, 404)
  })
})
