import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { eventually } from '../receiving/harness.ts'

export interface Outcome {
  /** Events in the event queue, acknowledged or not. */
  received: number
  processed: number
  failed: number
  /** Attempts that were begun beyond those that ended well or as failures: cut off. */
  cutOff: number
}

/** A table of a user's own, with the order of what was written. */
export async function createEffects(database: Database): Promise<void> {
  const columns = 'event_id text not null, order_key text'
  if (database.engine === 'sqlite')
    await database.batch('request', (connection) =>
      connection.exec(`create table effects (place integer primary key autoincrement, ${columns})`),
    )
  else await database.pool.query(`create table effects (place bigserial primary key, ${columns})`)
}

/** Milliseconds in which something of what is left must be done. */
const longestStandstill = 120_000
/** Events that a failure names. */
const mostNamed = 10

/**
 * Resolves when nothing is left to be done, however long it takes: a busy machine must not decide it.
 * @throws Error when nothing is done for two minutes
 */
export async function settled({ reader }: Database): Promise<void> {
  for (let last = '', left = Infinity; left > 0;) {
    const moved = eventually(
      async () => {
        const rows = await reader
          .selectFrom('event_queue')
          .select((eb) => [
            'status',
            eb.fn.countAll<number>().as('count'),
            eb.fn.sum('attempts').as('attempts'),
          ])
          .groupBy('status')
          .orderBy('status')
          .execute()
        const now = JSON.stringify(rows)
        if (now === last) return false
        last = now
        left = rows
          .filter(({ status }) => status === 'pending' || status === 'blocked')
          .reduce((sum, { count }) => sum + count, 0)
        return true
      },
      'something is done',
      longestStandstill,
    )
    await moved.catch(async (cause: unknown) => {
      const rows = await reader
        .selectFrom('event_queue')
        .selectAll()
        .where('status', 'in', ['pending', 'blocked'])
        .orderBy('event')
        .limit(mostNamed)
        .execute()
      const named = rows.map((row) => JSON.stringify(row)).join('\n')
      throw new Error(`${left} events are left, and nothing is done about them:\n${named}`, { cause })
    })
    if (left > 0) await wait(50)
  }
}

/**
 * That every acknowledged event has had its effect and its follow-up, exactly once each, those of a key in order.
 * @throws AssertionError
 */
export async function checkOutcome(
  { reader }: Database,
  acknowledged: ReadonlySet<string>,
): Promise<Outcome> {
  const queue = await reader
    .selectFrom('event_queue')
    .select(['event', 'event_id', 'type', 'status', 'attempts'])
    .orderBy('event')
    .execute()
  const { rows: effects } = await sql<{
    event_id: string
    order_key: string | null
  }>`select event_id, order_key from effects order by place`.execute(reader)
  const followUps = await reader
    .selectFrom('events')
    .select('event_id')
    .where('type', '=', 'work.done')
    .execute()
  const { failures } = await reader
    .selectFrom('handler_failures')
    .select((eb) => eb.fn.countAll<number>().as('failures'))
    .executeTakeFirstOrThrow()

  const received = new Set(queue.map(({ event_id }) => event_id))
  const lost = [...acknowledged].filter((id) => !received.has(id))
  assert.deepEqual(lost, [], 'what was acknowledged is there')
  const wrong = queue.filter(({ type, status }) => status !== (type === 'poison' ? 'failed' : 'processed'))
  assert.deepEqual(wrong, [], 'all but the poison was processed')
  const processed = queue.filter(({ status }) => status === 'processed').map(({ event_id }) => event_id)
  assertSame(
    effects.map(({ event_id }) => event_id),
    processed,
    'effect',
  )
  assertSame(
    followUps.map(({ event_id }) => event_id.replace(/^done-/, '')),
    processed,
    'follow-up',
  )
  const place = new Map(queue.map(({ event_id, event }) => [event_id, event]))
  for (const [key, ofKey] of Map.groupBy(effects, ({ order_key }) => order_key)) {
    if (key === null) continue
    const order = ofKey.map(({ event_id }) => place.get(event_id)!)
    const first = order.findIndex((event, index) => index > 0 && event < order[index - 1]!)
    assert.equal(first, -1, `event ${order[first]} of key ${key} came behind event ${order[first - 1]}`)
  }
  const begun = queue.reduce((sum, { attempts }) => sum + attempts, 0)
  return {
    received: queue.length,
    processed: processed.length,
    failed: queue.length - processed.length,
    cutOff: begun - processed.length - failures,
  }
}

/** That each of the events has exactly one of them. */
function assertSame(found: readonly string[], events: readonly string[], what: string): void {
  const once = new Set(found)
  const twice = found.filter((id, index) => found.indexOf(id) !== index && once.delete(id))
  assert.deepEqual(twice, [], `no event has a second ${what}`)
  const expected = new Set(events)
  assert.deepEqual(
    [...expected].filter((id) => !once.has(id)),
    [],
    `every event has its ${what}`,
  )
  assert.deepEqual(
    [...once].filter((id) => !expected.has(id)),
    [],
    `nothing else has a ${what}`,
  )
}
