import { sql } from 'kysely'
import { systemClock } from '../runtime/clock.ts'
import { isHeld } from '../events/retention/store.ts'
import type { Database } from '../storage/database.ts'
import { countQueues, type Count } from '../storage/queue-counts.ts'
import { readDatabaseSize, readTableSizes, type DatabaseSize } from '../storage/sizes.ts'
import { ok, warning, type Finding } from './finding.ts'
import { isoTime } from '../runtime/iso-time.ts'

const day = 86_400_000
const mebibyte = 1024 ** 2
/** Milliseconds for which work may have been due, while a service runs, before it is worth a warning. */
const longestDue = 5 * 60_000
/** Tables that are named, those with the most rows. */
const mostNamed = 12

/** How large the database is and what of, what waits for how long, and whether old rows are removed. */
export async function* checkSizes(
  database: Database,
  payloadRetention: number | undefined,
): AsyncGenerator<Finding> {
  yield ok('size', describeSize(await readDatabaseSize(database)))
  yield ok('tables', await describeTables(database))
  yield* await checkQueues(database)
  if (payloadRetention !== undefined) yield await checkRetention(database, payloadRetention)
}

function describeSize({ total, free, log, spool }: DatabaseSize): string {
  if (free === undefined) return bytes(total)
  return `${bytes(total)}, of which ${bytes(free)} are free pages; log ${bytes(log ?? 0)}, spool ${bytes(spool ?? 0)}`
}

/** The largest tables; see TableSize. */
async function describeTables(database: Database): Promise<string> {
  const shown = (await readTableSizes(database)).filter(({ rows }) => rows > 0)
  // PostgreSQL counts for the first time some time after the first rows.
  if (shown.length === 0)
    return database.engine === 'sqlite' ? 'all are empty' : 'the statistics of PostgreSQL have no rows yet'
  const named = shown.slice(0, mostNamed).map(({ name, rows, bytes: size }) => {
    return `${name} ${number(rows)}${size === null ? '' : ` (${bytes(size)})`}`
  })
  const others = shown.length - named.length
  return named.join(', ') + (others > 0 ? `, and ${others} smaller` : '')
}

async function checkQueues(database: Database): Promise<Finding[]> {
  const { receiving, emitting } = await countQueues(database, systemClock.now())
  const [received, delivery] = await Promise.all([oldestEvent(database), oldestDelivery(database)])
  return [
    describeBacklog('received events', sum(receiving.waiting, receiving.blocked), received, [
      receiving.failed.count > 0 &&
        `${counted(receiving.failed)} have failed: \`GET /events/failed\`, \`postern replay events\``,
    ]),
    describeBacklog('deliveries', emitting.waiting, delivery, [
      emitting.dead.count > 0 && `${counted(emitting.dead)} are dead: \`postern replay deliveries\``,
    ]),
  ]
}

/** The earliest due time of pending events. */
async function oldestEvent({ reader }: Database): Promise<number | null> {
  const { due } = await reader
    .selectFrom('event_queue')
    .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  return due
}

/** The earliest due time of pending deliveries. Those of a paused subscriber wait until it is resumed. */
async function oldestDelivery({ reader }: Database): Promise<number | null> {
  const { due } = await reader
    .selectFrom('deliveries')
    .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
    .select((eb) => eb.fn.min<number | null>('due_at').as('due'))
    .where('deliveries.status', '=', 'pending')
    .where('subscribers.status', '=', 'active')
    .executeTakeFirstOrThrow()
  return due
}

function describeBacklog(
  about: string,
  waiting: Count,
  due: number | null,
  more: readonly (string | false)[],
): Finding {
  const age = systemClock.now() - (due ?? Infinity)
  const oldest = age > 0 ? `, the oldest due for ${duration(age)}` : ''
  const text = [waiting.count === 0 ? 'none waits' : `${counted(waiting)} wait${oldest}`, ...more]
    .filter(Boolean)
    .join('; ')
  return age > longestDue
    ? warning(about, text, 'does a service with workers run, and keep up?')
    : ok(about, text)
}

async function checkRetention({ reader }: Database, period: number): Promise<Finding> {
  const oldest = await reader
    .selectFrom('events as e')
    .select('e.created_at')
    .where(sql<boolean>`not (${sql.raw(isHeld)})`)
    .orderBy('e.id')
    .limit(1)
    .executeTakeFirst()
  if (!oldest) return ok('retention', 'there is nothing that could be removed')
  const age = systemClock.now() - oldest.created_at
  const text = `the oldest event that is done is of ${isoTime(oldest.created_at)}`
  if (period === Infinity) return ok('retention', `${text}; events are kept for ever`)
  const period_ = `events are kept for ${Math.round(period / day)} days`
  return age > period + day
    ? warning('retention', `${text}, but ${period_}`, 'does a service with workers run, and for long enough?')
    : ok('retention', `${text}; ${period_}`)
}

const sum = (one: Count, other: Count): Count => ({
  count: one.count + other.count,
  more: one.more || other.more,
})
const counted = ({ count, more }: Count): string => `${number(count)}${more ? ' or more' : ''}`
const number = (count: number): string => Math.round(count).toLocaleString('en')

function bytes(count: number): string {
  return count < 1024 * mebibyte
    ? `${(count / mebibyte).toFixed(count < 10 * mebibyte ? 1 : 0)} MB`
    : `${(count / 1024 / mebibyte).toFixed(1)} GB`
}

function duration(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  return ms < 2 * day ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / day)} days`
}
