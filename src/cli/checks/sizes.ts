import { sql } from 'kysely'
import { statSync } from 'node:fs'
import { systemClock } from '../../runtime/clock.ts'
import { isHeld } from '../../events/retention/store.ts'
import type { Database, SqliteDatabase } from '../../storage/database.ts'
import { ok, warning, type Finding } from './finding.ts'

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
  yield ok('size', database.engine === 'sqlite' ? sizeOfFile(database) : await sizeOfServer(database))
  yield ok('tables', await countRows(database))
  yield await checkEventQueue(database)
  yield await checkDeliveries(database)
  if (payloadRetention !== undefined) yield await checkRetention(database, payloadRetention)
}

function sizeOfFile({ file, readConnection }: SqliteDatabase): string {
  const pragma = (name: string): number =>
    Object.values(readConnection.get<Record<string, number>>(`pragma ${name}`) ?? {})[0] ?? 0
  const page = pragma('page_size')
  const beside = ['-wal', '-spool'].map((end) => statSync(file + end, { throwIfNoEntry: false })?.size ?? 0)
  const [log = 0, spool = 0] = beside
  return `${bytes(pragma('page_count') * page)}, of which ${bytes(pragma('freelist_count') * page)} are free pages; log ${bytes(log)}, spool ${bytes(spool)}`
}

async function sizeOfServer({ reader }: Database): Promise<string> {
  const { rows } = await sql<{ size: number }>`select pg_database_size(current_database()) as size`.execute(
    reader,
  )
  return bytes(rows[0]?.size ?? 0)
}

/** Rows of each table; on PostgreSQL as its statistics have them, with their size. */
async function countRows(database: Database): Promise<string> {
  const tables: { name: string; rows: number; size?: number }[] = []
  if (database.engine === 'postgres') {
    const { rows } = await sql<{ name: string; rows: number; size: number }>`
      select relname as name, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid)::float8 as size
      from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`.execute(
      database.reader,
    )
    tables.push(...rows)
  } else {
    const { readConnection } = database
    const names = readConnection.all<{ name: string }>(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`,
    )
    for (const { name } of names) {
      const rows = readConnection.get<{ rows: number }>(`select count(*) as rows from "${name}"`)?.rows ?? 0
      tables.push({ name, rows })
    }
  }
  const shown = tables.filter(({ rows }) => rows > 0).toSorted((one, other) => other.rows - one.rows)
  if (shown.length === 0) return 'all are empty'
  const named = shown.slice(0, mostNamed).map(({ name, rows, size }) => {
    return `${name} ${number(rows)}${size === undefined ? '' : ` (${bytes(size)})`}`
  })
  const others = shown.length - named.length
  return named.join(', ') + (others > 0 ? `, and ${others} smaller` : '')
}

async function checkEventQueue({ reader }: Database): Promise<Finding> {
  const rows = await reader
    .selectFrom('event_queue')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count'), eb.fn.min<number>('due_at').as('due')])
    .where('status', '!=', 'processed')
    .groupBy('status')
    .execute()
  const { pending, blocked, failed } = byStatus(rows)
  const waiting = (pending?.count ?? 0) + (blocked?.count ?? 0)
  return describeBacklog('received events', waiting, pending?.due, [
    failed && `${number(failed.count)} have failed: \`GET /events/failed\`, \`postern replay events\``,
  ])
}

async function checkDeliveries({ reader }: Database): Promise<Finding> {
  const rows = await reader
    .selectFrom('deliveries')
    .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
    .select((eb) => [
      'deliveries.status',
      eb.fn.countAll<number>().as('count'),
      // Deliveries of a paused subscriber wait until it is resumed.
      eb.fn.min<number>('due_at').filterWhere('subscribers.status', '=', 'active').as('due'),
    ])
    .where('deliveries.status', 'in', ['pending', 'dead'])
    .groupBy('deliveries.status')
    .execute()
  const { pending, dead } = byStatus(rows)
  return describeBacklog('deliveries', pending?.count ?? 0, pending?.due, [
    dead && `${number(dead.count)} are dead: \`postern replay deliveries\``,
  ])
}

function byStatus<Row extends { status: string }>(rows: readonly Row[]): Partial<Record<string, Row>> {
  return Object.fromEntries(rows.map((row) => [row.status, row]))
}

function describeBacklog(
  about: string,
  waiting: number,
  due: number | null | undefined,
  more: readonly (string | undefined)[],
): Finding {
  const age = systemClock.now() - (due ?? Infinity)
  const oldest = age > 0 ? `, the oldest due for ${duration(age)}` : ''
  const text = [waiting === 0 ? 'none waits' : `${number(waiting)} wait${oldest}`, ...more]
    .filter(Boolean)
    .join('; ')
  return age > longestDue
    ? warning(about, `${text}. Does a service with workers run, and keep up?`)
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
  const text = `the oldest event that is done is of ${new Date(oldest.created_at).toISOString()}`
  if (period === Infinity) return ok('retention', `${text}; events are kept for ever`)
  const kept = `events are kept for ${Math.round(period / day)} days`
  return age > period + day
    ? warning('retention', `${text}, but ${kept}: does a service with workers run, and for long enough?`)
    : ok('retention', `${text}; ${kept}`)
}

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
