import { type Static, type TSchema, Type } from 'typebox'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { countQueues, mostCounted, readDatabaseSize, readTableSizes } from '../../storage/sizes.ts'
import type { Database } from '../../storage/database.ts'
import { type App, route } from '../app.ts'
import { closedObject, DateTime, nullable, optionalText } from '../schemas/schemas.ts'
import { oldestDue, type ReadinessParts, spoolReport, SpoolReport } from './readiness.ts'
import type { Scope } from '../access/principal.ts'
import { sql } from 'kysely'
import { pendingMigrations } from '../../storage/migrate.ts'
import { version } from '../../runtime/version.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readChoice } from '../../paging/parameters.ts'

const Count = closedObject({
  count: Type.Integer({ description: `${mostCounted} at most` }),
  more: Type.Boolean({ description: 'Whether there are more than `count`' }),
})
const shared = {
  waiting: Count,
  due: Count,
  retrying: Count,
  oldestDueSeconds: Type.Number({ description: 'Age of the oldest work that is due and not done' }),
  lastRoundSeconds: nullable(
    Type.Number(),
    'Time since the last round of the worker of this process; null if it has none',
  ),
}
const Queues = closedObject({
  receiving: closedObject({ ...shared, blocked: Count, failed: Count }),
  emitting: closedObject({ ...shared, dead: Count }),
  spool: nullable(SpoolReport),
  retention: Type.Array(
    closedObject({
      what: Type.String(),
      setting: Type.String({ description: 'The setting with the period' }),
      seconds: nullable(Type.Number(), 'null: for ever'),
      oldestAt: nullable(DateTime, 'The time of the oldest row'),
    }),
  ),
  database: closedObject({
    engine: Type.Enum(['sqlite', 'postgres']),
    bytes: Type.Number(),
    freeBytes: nullable(Type.Number(), 'SQLite: pages of deleted rows, which new rows use'),
    logBytes: nullable(Type.Number(), 'SQLite: the write-ahead log'),
  }),
  tables: Type.Array(
    closedObject({
      name: Type.String(),
      rows: Type.Number(),
      isEstimate: Type.Boolean(),
      bytes: nullable(Type.Number(), 'With indexes; PostgreSQL only'),
    }),
    { description: 'Largest first' },
  ),
})

/** GET /queues: what waits, how old it is, and how large the database is. A few short reads by index. */
export function queuesRoute(app: App, parts: ReadinessParts): void {
  app.get(
    '/queues',
    report('operate', 'Waiting events and deliveries, the spool, retention and table sizes', Queues),
    async () => readQueues(parts),
  )
}

async function readQueues(parts: ReadinessParts): Promise<Static<typeof Queues>> {
  const { database, clock, spool } = parts
  const [counts, size, tables, retention] = await Promise.all([
    countQueues(database, clock.now()),
    readDatabaseSize(database),
    readTableSizes(database),
    readRetention(parts),
  ])
  const [handlers, deliveries] = [await workerOf(parts, 'handlers'), await workerOf(parts, 'deliveries')]
  return {
    receiving: { ...counts.receiving, ...handlers },
    emitting: { ...counts.emitting, ...deliveries },
    spool: spool ? await spoolReport(spool, clock) : null,
    retention,
    database: {
      engine: database.engine,
      bytes: size.total,
      freeBytes: size.free ?? null,
      logBytes: size.log ?? null,
    },
    tables,
  }
}

async function workerOf({ workers, clock }: ReadinessParts, name: 'handlers' | 'deliveries') {
  const worker = workers.find((one) => one.name === name)
  const round = worker?.sinceRound?.()
  return {
    oldestDueSeconds: worker ? await oldestDue(worker, clock) : 0,
    lastRoundSeconds: round === undefined ? null : round / 1000,
  }
}

async function readRetention({ database, configuration }: ReadinessParts) {
  const { payloadRetention, markerRetention, rejectedRetention, auditRetention } = configuration
  const [event, rejected, audit] = await oldestRows(database)
  const row = (what: string, setting: string, period: number, oldest: number | null | undefined) => ({
    what,
    setting,
    seconds: period === Infinity ? null : period / 1000,
    oldestAt: isoTimeOrNull(oldest),
  })
  return [
    row('events', 'PAYLOAD_RETENTION_DAYS', payloadRetention, event),
    row('ids of events', 'MARKER_RETENTION_DAYS', Math.max(markerRetention, payloadRetention), null),
    row('refused webhooks', 'REJECTED_RETENTION_DAYS', rejectedRetention, rejected),
    row('audit log', 'AUDIT_RETENTION', auditRetention, audit),
  ]
}

/** The times of the oldest event, refused webhook and audit entry, each by one seek. */
async function oldestRows({ slowReader: reader }: Database): Promise<(number | null | undefined)[]> {
  const event = reader.selectFrom('events').select('created_at as at').orderBy('id').limit(1)
  const rejected = reader.selectFrom('rejected_webhooks').select('at').orderBy('id').limit(1)
  const audit = reader.selectFrom('audit_log').select('created_at as at').orderBy('created_at').limit(1)
  const rows = await Promise.all([event, rejected, audit].map((query) => query.executeTakeFirst()))
  return rows.map((row) => row?.at)
}

/** The options of a GET without parameters that tells administrators about the service. */
export const report = <A extends TSchema>(scope: Scope, summary: string, answer: A) => ({
  config: { access: { scope } },
  schema: { tags: ['operations'], summary, response: { 200: answer } },
})

const Version = closedObject({
  version: Type.String(),
  node: Type.String(),
  engine: Type.Enum(['sqlite', 'postgres']),
  engineVersion: Type.String(),
  schema: closedObject({
    migrations: Type.Integer({ description: 'Applied migrations' }),
    pending: Type.Array(Type.String(), { description: 'Migrations that are to be applied' }),
    migratedAt: nullable(DateTime, 'When the last migration was applied'),
  }),
  startedAt: DateTime,
  processes: Type.Integer({ description: 'Processes of the service on this database' }),
})

/** The session by which each process listens (storage/postgres/session/). */
const listening = 'postern-listen'

/** GET /version: what runs. @param startedAt milliseconds since 1970 */
export function versionRoute(app: App, database: Database, startedAt: number): void {
  app.get(
    '/version',
    report('operate', "Versions of the service, Node.js and the database, and the schema's state", Version),
    async () => {
      const { count, last } = await database.reader
        .selectFrom('migrations')
        .select((eb) => [
          eb.fn.countAll<number>().as('count'),
          eb.fn.max<number | null>('applied_at').as('last'),
        ])
        .executeTakeFirstOrThrow()
      return {
        version,
        node: process.versions.node,
        engine: database.engine,
        ...(await readEngine(database)),
        schema: {
          migrations: count,
          pending: await pendingMigrations(database),
          migratedAt: isoTimeOrNull(last),
        },
        startedAt: isoTime(startedAt),
      }
    },
  )
}

async function readEngine(database: Database): Promise<{ engineVersion: string; processes: number }> {
  if (database.engine === 'sqlite') {
    const { rows } = await sql<{ version: string }>`select sqlite_version() as version`.execute(
      database.reader,
    )
    // One SQLite file belongs to one process.
    return { engineVersion: rows[0]!.version, processes: 1 }
  }
  const { rows } = await sql<{ version: string; processes: number }>`
    select current_setting('server_version') as version,
      (select count(*)::int from pg_stat_activity
        where application_name = ${listening} and datname = current_database()) as processes`.execute(
    database.reader,
  )
  return { engineVersion: rows[0]!.version, processes: Math.max(1, rows[0]!.processes) }
}

const Finding = closedObject({
  check: Type.String(),
  state: Type.Enum(['ok', 'warning', 'fault']),
  about: Type.String(),
  text: Type.String(),
  advice: nullable(Type.String(), 'What to do'),
})
const Diagnosis = closedObject({
  checks: Type.Array(Type.String(), { description: 'All checks, in the order in which they run' }),
  startedAt: DateTime,
  endedAt: DateTime,
  faults: Type.Integer(),
  warnings: Type.Integer(),
  findings: Type.Array(Finding),
})

/** The checks of `postern doctor`, which service-app.ts passes in. */
export interface Checks {
  names: readonly string[]
  /** Runs one of `names`. */
  run: (
    check: string,
  ) => Promise<{ state: 'ok' | 'warning' | 'fault'; about: string; text: string; advice?: string }[]>
}

/** Calls of one address in a minute: a page runs the checks one by one. */
const callsPerMinute = 60

/** GET /diagnostics: runs the checks now. */
export function diagnosticsRoute(app: App, { names, run }: Checks, clock: Clock): void {
  app.get(
    '/diagnostics',
    route(
      { scope: 'admin' },
      ['operations'],
      'Run the checks of `postern doctor` in this process',
      {
        description:
          'Each check takes eight seconds at most. One check runs at a time; concurrent calls share its result.',
        querystring: Type.Object({ check: optionalText(`Only this check: ${names.join(', ')}`) }),
        response: { 200: Diagnosis },
      },
      { rateLimit: { max: callsPerMinute } },
    ),
    async ({ query }) => {
      const chosen = query.check ? [readChoice(query.check, 'check', names)] : names
      const startedAt = isoTime(clock.now())
      const findings: Static<typeof Finding>[] = []
      for (const check of chosen)
        for (const { advice = null, ...finding } of await run(check))
          findings.push({ check, ...finding, advice })
      const count = (state: string): number => findings.filter((finding) => finding.state === state).length
      return {
        checks: [...names],
        startedAt,
        endedAt: isoTime(clock.now()),
        faults: count('fault'),
        warnings: count('warning'),
        findings,
      }
    },
  )
}
