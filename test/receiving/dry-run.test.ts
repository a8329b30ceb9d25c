// A dry run shows what the handlers of an event would do, and nothing of it is stored.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { HandlerContext } from '../../src/index.ts'
import { each, fields, findRow, onEachEngine, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { dataOf } from '../emitting/harness.ts'

type Row = AnswerTo<'POST /events/{id}/dry-run'>['tables'][number]['rows'][number]
type DryRun = AnswerTo<'POST /events/{id}/dry-run'>

/** An alias and no interface, as Kysely wants. */
type Shop = {
  orders: { id: string; state: string; amount: number; api_key: string | null }
  lines: { order_id: string; item: string }
  notes: { text: string }
}

onEachEngine('a dry run', (engine) => {
  const seen: boolean[] = []
  let held: PromiseWithResolvers<void> | undefined
  let onHeld: (() => void) | undefined

  async function pay({ tx, emit, log }: HandlerContext, id: string): Promise<void> {
    const shop = tx.withTables<Shop>()
    await shop
      .updateTable('orders')
      .set({ state: 'paid', api_key: 'of the customer' })
      .where('id', '=', 'o-1')
      .execute()
    await shop.deleteFrom('orders').where('id', '=', 'o-2').execute()
    await shop.insertInto('orders').values({ id, state: 'new', amount: 7, api_key: null }).execute()
    await shop
      .insertInto('lines')
      .values([1, 2, 3].map((item) => ({ order_id: id, item: `i${item}` })))
      .execute()
    log.info({ order: id }, 'the order is paid')
    log.debug('nearly done')
    emit({ type: 'order.told', data: { id } })
  }

  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,3600', HANDLER_TIMEOUT: '5' },
    handlers: {
      'order.paid': async (event, context) => {
        seen.push(context.dryRun)
        if (context.dryRun) await pay(context, event.id)
      },
      'order.broken': async (event, context) => {
        await pay(context, event.id)
        throw new Error(`no customer of ${event.id}`)
      },
      'order.nested': async (_event, { tx }) => {
        const orders = tx
          .withTables<Shop>()
          .updateTable('orders')
          .set({ state: sql`null` })
        const inside = async (depth: number): Promise<void> => {
          if (depth === 0) await orders.execute()
          else await inside(depth - 1)
        }
        await inside(6)
      },
      'order.many': async (_event, { tx }) => {
        const rows = Array.from({ length: 120 }, (_, item) => ({
          order_id: 'many',
          item: `item ${item}`,
        }))
        await tx.withTables<Shop>().insertInto('lines').values(rows).execute()
      },
      'order.savepoint': async (_event, { tx }) => {
        await sql`savepoint mine`.execute(tx)
        await tx.withTables<Shop>().insertInto('lines').values({ order_id: 's', item: 'undone' }).execute()
        await sql`rollback to savepoint mine`.execute(tx)
        await tx.withTables<Shop>().insertInto('lines').values({ order_id: 's', item: 'kept' }).execute()
      },
      'order.reads': async (_event, { tx }) => {
        const shop = tx.withTables<Shop>().selectFrom('orders').selectAll().where('id', '=', 'o-1')
        await (engine.name === 'postgres' ? shop.forUpdate() : shop).execute()
      },
      'order.keyless': async (_event, { tx }) => {
        await tx.withTables<Shop>().insertInto('notes').values({ text: 'hello' }).execute()
      },
      'order.held': {
        timeout: 600,
        handle: async (_event, { dryRun }) => {
          if (!dryRun) return
          onHeld?.()
          await held?.promise
        },
      },
      'order.endless': {
        timeout: 1,
        handle: async (_event, { tx }) => {
          await tx.withTables<Shop>().insertInto('lines').values({ order_id: 'e', item: 'i' }).execute()
          await new Promise(() => undefined)
        },
      },
    },
  }))
  before(async () => {
    const statements = `
      create table orders (id varchar(50) primary key, state text not null, amount integer not null, api_key text);
      create table lines (order_id text not null, item text not null, primary key (order_id, item));
      create table notes (text text not null);
      insert into orders values ('o-1', 'open', 5, null), ('o-2', 'open', 6, null)`
    const { database } = service
    if (database.engine === 'sqlite')
      await database.batch('request', (connection) => connection.exec(statements))
    else await database.pool.query(statements)
  })

  const numberOf = async (eventId: string): Promise<number> =>
    eventually(async () => {
      const row = await findRow(service, 'event_queue', { event_id: eventId })
      return row?.event
    })
  const stored = async (id: string, type: string): Promise<number> => {
    await postWebhook(service, { id, type })
    return numberOf(id)
  }
  const run = (event: number): Promise<Response> =>
    service.admin(`/events/${event}/dry-run`, { method: 'POST' })
  /** Waits while the event is being handled. */
  const dryRun = async (event: number): Promise<DryRun> => {
    const answer = await eventually(async () => {
      const tried = await run(event)
      return tried.status === 409 ? undefined : tried
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as DryRun
  }
  /** All that must stay as it is. */
  const everything = async (): Promise<unknown[]> => {
    const reader = service.database.reader.withTables<Shop>()
    return [
      await reader.selectFrom('orders').selectAll().orderBy('id').execute(),
      await reader.selectFrom('lines').selectAll().execute(),
      await reader.selectFrom('notes').selectAll().execute(),
      await service.database.reader.selectFrom('events').select('id').execute(),
      await service.database.reader.selectFrom('event_queue').selectAll().orderBy('event').execute(),
      await service.database.reader.selectFrom('handler_failures').selectAll().execute(),
      await service.database.reader.selectFrom('deliveries').select('id').execute(),
    ]
  }

  test('shows rows with before and after, events and log lines, and stores none of it', async () => {
    const event = await stored('e-1', 'order.paid')
    await settled(service.database)
    const before = await everything()
    const done = await dryRun(event)
    assert.deepEqual(await everything(), before)
    assert.equal(done.outcome, 'processed')
    assert.deepEqual(done.handlers, ['order.paid'])
    assert.deepEqual(seen, [false, true])
    const orders = done.tables.find(({ table }) => table === 'orders')!
    assert.deepEqual([orders.inserted, orders.updated, orders.deleted, orders.note], [1, 1, 1, null])
    const of = (operation: string): Row => orders.rows.find((row) => row.operation === operation)!
    assert.deepEqual(of('update'), {
      operation: 'update',
      key: { id: 'o-1' },
      before: { state: 'open', api_key: null },
      after: { state: 'paid', api_key: '[redacted]' },
    })
    assert.deepEqual(of('insert').after, { id: 'e-1', state: 'new', amount: 7, api_key: null })
    assert.deepEqual(of('delete').before, { id: 'o-2', state: 'open', amount: 6, api_key: null })
    assert.equal(of('delete').after, null)
    assert.equal(done.tables.find(({ table }) => table === 'lines')!.inserted, 3)
    assert.deepEqual(
      each(done.tables, 'table').toSorted(),
      ['lines', 'orders'],
      'the tables of the emitted events are not among them',
    )
    assert.deepEqual(done.emitted, [{ type: 'order.told', data: { id: 'e-1' } }])
    assert.deepEqual(fields(done.log, 'level', 'message'), [
      ['info', 'the order is paid'],
      ['debug', 'nearly done'],
    ])
    assert.match(done.log[0]!.fields!, /order: 'e-1'/)
    const data = await dataOf<{ target: string }>(service, '/audit?action=event.dry_run')
    assert.deepEqual(each(data, 'target'), [`event:${event}`])
  })

  test('shows the error, and what was written before it', async () => {
    const event = await stored('e-2', 'order.broken')
    await eventually(async () => {
      const data = await dataOf<unknown>(service, '/events/failed?status=retrying')
      return data.length === 1
    })
    const before = await everything()
    const done = await dryRun(event)
    assert.deepEqual(await everything(), before, 'no attempt is counted')
    assert.equal(done.outcome, 'failed')
    assert.match(done.error!, /Error: no customer of e-2\n.*dry-run\.test\.ts/)
    assert.equal(done.tables.find(({ table }) => table === 'orders')!.updated, 1)
  })

  test('shows the line of the handler below a statement that failed', async () => {
    const done = await dryRun(await stored('e-nested', 'order.nested'))
    assert.equal(done.outcome, 'failed')
    assert.match(done.error!, /at async .*order\.nested.*dry-run\.test\.ts/)
  })

  test('counts all rows and shows the first', async () => {
    const event = await stored('e-3', 'order.many')
    await settledBut()
    await service.database.transaction((tx) => sql`delete from lines`.execute(tx))
    const { tables } = await dryRun(event)
    assert.equal(tables[0]!.inserted, 120)
    assert.equal(tables[0]!.rows.length, 50)
    assert.match(tables[0]!.note!, /first rows/)
  })

  /** Waits for all events but the one that is retried. */
  const settledBut = () =>
    eventually(async () => {
      const { rows } = await sql<{ n: number }>`select count(*) as n from event_queue
        where status = 'pending' and failed_at is null`.execute(service.database.reader)
      return rows[0]!.n === 0
    })

  test('shows what a savepoint of the handler leaves, and not what is only locked', async () => {
    const event = await stored('e-4', 'order.savepoint')
    await settledBut()
    await service.database.transaction((tx) => sql`delete from lines`.execute(tx))
    const { tables } = await dryRun(event)
    assert.deepEqual(each(tables[0]!.rows, 'after'), [{ order_id: 's', item: 'kept' }])
    const reading = await dryRun(await stored('e-5', 'order.reads'))
    assert.deepEqual(reading.tables, [])
  })

  test('says what it does not see', async () => {
    const done = await dryRun(await stored('e-6', 'order.keyless'))
    if (engine.name === 'sqlite')
      assert.ok(done.notes.some((note) => /without a primary key.*notes/.test(note)))
    else {
      assert.deepEqual(done.tables[0]!.rows[0]!.after, { text: 'hello' })
      assert.ok(done.notes.some((note) => note.includes('Sequences')))
    }
  })

  test('each person has one at a time, and acknowledgements go on', async () => {
    const event = await stored('e-7', 'order.held')
    await settledBut()
    held = Promise.withResolvers()
    const isHeld = new Promise<void>((resolve) => (onHeld = resolve))
    const first = run(event)
    await isHeld
    assert.equal((await run(event)).status, 409)
    assert.equal((await postWebhook(service, { id: 'e-8', type: 'order.reads' })).status, 200)
    held.resolve()
    assert.equal((await first).status, 200)
    assert.equal((await run(event)).status, 200)
  })

  test('ends at its time limit, while webhooks are acknowledged', async () => {
    const event = await stored('e-9', 'order.endless')
    const running = eventually(async () => {
      const answer = await run(event)
      return answer.status === 409 ? undefined : answer
    })
    for (const id of ['a', 'b', 'c'])
      assert.equal((await postWebhook(service, { id, type: 'order.reads' })).status, 200)
    const done = (await (await running).json()) as DryRun
    assert.equal(done.outcome, 'failed')
    assert.match(done.error!, /Timeout/)
  })

  test('is refused for emitted and unknown events', async () => {
    await service.admin('/events', { method: 'POST', json: { type: 'shop.opened', data: {} } })
    const data = await dataOf<{ id: number }>(service, '/events?direction=emitted')
    assert.equal((await run(data[0]!.id)).status, 409)
    assert.equal((await run(999_999)).status, 404)
  })
})
