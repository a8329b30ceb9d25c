import type { Database } from '../storage/database.ts'
import { migrationsFolder } from '../config/module.ts'
import { isUpToDate } from '../storage/migrate.ts'
import {
  pendingProductMigrations,
  ProductMigrationError,
  readProductMigrations,
} from '../storage/product-migrations.ts'
import { destinationIn, destinationUrl } from '../emitting/subscribers/destinations.ts'
import type { InspectedConfiguration } from './configuration.ts'
import { fault, type Finding, ok, warning } from './finding.ts'
import { describeError } from './describe-error.ts'
import { ExportPosition } from '../accounts/audit-forwarding/position.ts'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { printable } from '../telemetry/printable.ts'
import type { PosternConfig } from '../define-config.ts'
import { type Configuration, ConfigurationError } from '../config/environment.ts'
import { withStoredSecrets } from '../config/generated-secrets.ts'
import { Keyring } from '../crypto/keyring.ts'
import { checkSealedValues } from '../storage/reseal.ts'
import { sql } from 'kysely'
import { isHeld } from '../events/retention/store.ts'
import {
  type Count,
  countQueues,
  type DatabaseSize,
  readDatabaseSize,
  readTableSizes,
} from '../storage/sizes.ts'
import { checkList } from '../listing/checking/check.ts'
import { declaredQueries, maxQueries, type MissingIndex } from '../listing/checking/index-advice.ts'
import { explainList, type ExplainedQuery } from '../listing/checking/explain.ts'
import { readLists } from '../listing/declaration.ts'
import type { ListDeclaration } from '../listing/list.ts'

/** Checks what an open database holds. It skips what checkDatabase reports, such as missing migrations. */
export async function* checkContents(
  database: Database,
  { configuration, config }: InspectedConfiguration,
): AsyncGenerator<Finding> {
  try {
    if (await isUpToDate(database)) yield* checkRows(database, configuration, config)
    const pending = await pendingOfProduct(database, configuration.configFile)
    // Their tables may be missing until then.
    if (pending.length > 0)
      yield warning(
        'lists',
        `not checked until ${pending.join(', ')} of migrations/ is applied`,
        '`postern migrate`, or start',
      )
    else yield* checkLists(database, config)
  } catch (error) {
    if (error instanceof ProductMigrationError) yield fault('migrations', error.message)
    else yield fault('contents', describeError(error))
  }
}

function pendingOfProduct(database: Database, configFile: string | undefined): Promise<string[]> {
  const own = readProductMigrations(migrationsFolder(configFile), database.engine)
  return pendingProductMigrations(database, own)
}

/** What the tables of an open, migrated database hold. */
export async function* checkRows(
  database: Database,
  configuration: Parameters<typeof withStoredSecrets>[0] &
    Partial<Pick<Configuration, 'payloadRetention' | 'auditExportUrl'>>,
  config: PosternConfig | undefined,
): AsyncGenerator<Finding> {
  yield* checkSealed(database, configuration)
  yield* checkSizes(database, configuration.payloadRetention)
  yield* checkAuditExport(database, configuration.auditExportUrl)
  yield* await checkDestinations(database, config?.emitting?.destinations)
}

/** Whether the configuration has the destinations of all endpoints. */
async function checkDestinations(
  { reader }: Database,
  declared: NonNullable<PosternConfig['emitting']>['destinations'] = {},
): Promise<Finding[]> {
  const used = await reader
    .selectFrom('subscribers')
    .select((eb) => ['url', eb.fn.countAll<number>().as('count')])
    .where('url', 'like', destinationUrl('%'))
    .groupBy('url')
    .execute()
  const missing = used.filter(({ url }) => !Object.hasOwn(declared, destinationIn(url)!))
  return missing.map(({ url, count }) =>
    warning(
      'destinations',
      `the configuration has no destination ${destinationIn(url)}: deliveries to ${count} endpoints wait`,
      'declare it in `emitting.destinations`, or remove these endpoints',
    ),
  )
}

/** Milliseconds that the destination may be behind before it is worth a warning. */
const longestBehind = 5 * 60_000

/** How far AUDIT_EXPORT_URL is behind the audit log, and why. */
async function* checkAuditExport(
  database: Database,
  auditExportUrl: string | undefined,
): AsyncGenerator<Finding> {
  if (auditExportUrl === undefined) return
  const about = 'audit export'
  const position = new ExportPosition(database, auditExportUrl)
  const { failing_since: since, last_error: error } = await position.state()
  const oldest = await position.oldestWaiting()
  const behind = oldest === undefined ? 0 : systemClock.now() - oldest
  if (since !== null)
    yield warning(
      about,
      `the destination has accepted nothing since ${isoTime(since)}: ${printable(error ?? '')}`,
    )
  else if (behind > longestBehind)
    yield warning(
      about,
      `${Math.round(behind / 60_000)} minutes behind`,
      'check that a service with workers is running',
    )
  else yield ok(about, 'up to date')
}

/** Whether the given secrets open what the database holds sealed, and what still needs an older one. */
async function* checkSealed(
  database: Database,
  given: Parameters<typeof withStoredSecrets>[0],
): AsyncGenerator<Finding> {
  const { masterSecrets } = withStoredSecrets(given)
  if (!masterSecrets) return
  const { unknown, older } = await checkSealedValues(database, new Keyring(masterSecrets))
  if (unknown !== undefined) yield fault('sealed values', unknown)
  if (older !== undefined) yield warning('sealed values', older)
  if (unknown === undefined && older === undefined)
    yield ok('sealed values', 'the newest POSTERN_SECRET decrypts all of them')
}

const day = 86_400_000
const mebibyte = 1024 ** 2
/** Milliseconds for which work may have been due, while a service runs, before it is worth a warning. */
const longestDue = 5 * 60_000
/** Tables that are named, those with the most rows. */
const mostNamed = 12

/** How large the database is and what of, what waits for how long, and whether old rows are removed. */
async function* checkSizes(
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
  return `${bytes(total)}, including ${bytes(free)} of free pages; log ${bytes(log ?? 0)}, spool ${bytes(spool ?? 0)}`
}

/** The largest tables; see TableSize. */
async function describeTables(database: Database): Promise<string> {
  const shown = (await readTableSizes(database)).filter(({ rows }) => rows > 0)
  // PostgreSQL counts for the first time some time after the first rows.
  if (shown.length === 0)
    return database.engine === 'sqlite' ? 'all empty' : 'PostgreSQL has no statistics yet'
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
    ...describeBacklog('received events', sum(receiving.waiting, receiving.blocked), received),
    ...describeFailed('received events', receiving.failed, 'events'),
    ...describeBacklog('deliveries', emitting.waiting, delivery),
    ...describeFailed('deliveries', emitting.dead, 'deliveries'),
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

function describeBacklog(about: string, waiting: Count, due: number | null): Finding[] {
  const age = systemClock.now() - (due ?? Infinity)
  const oldest = age > 0 ? `, the oldest due for ${duration(age)}` : ''
  const text = waiting.count === 0 ? 'none waiting' : `${counted(waiting)} waiting${oldest}`
  return [
    age > longestDue
      ? warning(about, text, 'check that a service with workers is running and keeps up')
      : ok(about, text),
  ]
}

/** Failed work is retried no more, so somebody has to decide about it. */
function describeFailed(about: string, failed: Count, replay: 'events' | 'deliveries'): Finding[] {
  if (failed.count === 0) return []
  const text = `${counted(failed)} failed after the last attempt`
  return [warning(about, text, `fix the cause, then run \`postern replay ${replay}\``)]
}

async function checkRetention({ reader }: Database, period: number): Promise<Finding> {
  const oldest = await reader
    .selectFrom('events as e')
    .select('e.created_at')
    .where(sql<boolean>`not (${sql.raw(isHeld)})`)
    .orderBy('e.id')
    .limit(1)
    .executeTakeFirst()
  if (!oldest) return ok('retention', 'nothing to remove')
  const age = systemClock.now() - oldest.created_at
  const text = `the oldest finished event is from ${isoTime(oldest.created_at)}`
  if (period === Infinity) return ok('retention', `${text}; events are retained forever`)
  const period_ = `events are retained for ${Math.round(period / day)} days`
  return age > period + day
    ? warning(
        'retention',
        `${text}, but ${period_}`,
        'check that a service with workers is running, and runs long enough',
      )
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

/** The lists of the configuration module against their tables, with the plan of every query that they declare. */
export async function* checkLists(
  database: Database,
  config: PosternConfig | undefined,
): AsyncGenerator<Finding> {
  const advised = new Map<string, string>()
  for (const list of readable(config)) yield* checkOne(database, list, advised)
}

/** @param advised for which list an index was advised before: several may lie on one table. */
async function* checkOne(
  database: Database,
  declaration: ListDeclaration,
  advised: Map<string, string>,
): AsyncGenerator<Finding> {
  const about = `list ${declaration.path}`
  const checked = await checkList(database, declaration)
  const { list, faults, missing, missingForPairs, createCounts, nullKeys } = checked
  yield* faults.map((text) => fault(about, text))
  if (faults.length > 0) return
  for (const [steps, queries] of grouped(await explainList(database, list)))
    yield ok(about, `${named(queries, 'default order')}: ${steps}`)
  const { omitted } = declaredQueries(list)
  if (omitted > 0)
    yield warning(
      about,
      `stopped at ${maxQueries} queries: ${omitted} more pairs of filter and sort are not shown`,
    )
  const advice = ({ queries, statement }: MissingIndex, why: string): Finding => {
    const other = advised.get(statement)
    if (other === undefined) advised.set(statement, list.path)
    const what = other === undefined ? statement : `the one that ${other} wants`
    return warning(about, `no index for ${named(queries, 'its order')}${why}`, what)
  }
  for (const one of missing) yield advice(one, '')
  for (const one of missingForPairs) yield advice(one, ', which sorts all that passes the filter')
  if (createCounts !== undefined)
    yield warning(about, `its counts are not maintained yet, so totals and deep pages are slow`, createCounts)
  if (nullKeys)
    yield warning(
      about,
      'it has rows with a null key, which paging may miss: give them keys, and declare the column not null',
    )
}

/** Queries that are planned in the same way, by their plan, in the order in which they come. */
function grouped(explained: readonly ExplainedQuery[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { query, steps } of explained) {
    const plan = steps.join('; ')
    const group = groups.get(plan)
    if (group) group.push(query)
    else groups.set(plan, [query])
  }
  return groups
}

/** @param whole what the list without parameters is called. */
function named(queries: readonly string[], whole: string): string {
  return queries.map((query) => (query === '' ? whole : query)).join(', ')
}

/** Faults of the declarations themselves were told with the settings. */
function readable(config: PosternConfig | undefined): ListDeclaration[] {
  try {
    return readLists(config?.listing)
  } catch (error) {
    if (error instanceof ConfigurationError) return []
    throw error
  }
}
