import { Type, type Static } from 'typebox'
import type { Configuration } from '../../config/environment.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'
import { countQueues, mostCounted } from '../../storage/queue-counts.ts'
import { readDatabaseSize, readTableSizes } from '../../storage/sizes.ts'
import type { Database } from '../../storage/database.ts'
import type { App } from '../app.ts'
import { closedObject, DateTime, nullable } from '../schemas/schemas.ts'
import type { ReadinessParts } from './readiness.ts'
import { oldestDue } from './readiness.ts'
import { SpoolReport, spoolReport } from './spool-report.ts'
import { report } from './report.ts'

export interface QueueParts extends ReadinessParts {
  configuration: Configuration
}

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
export function queuesRoute(app: App, parts: QueueParts): void {
  app.get(
    '/queues',
    report('operate', 'Waiting events and deliveries, the spool, retention and table sizes', Queues),
    async () => readQueues(parts),
  )
}

async function readQueues(parts: QueueParts): Promise<Static<typeof Queues>> {
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

async function workerOf({ workers, clock }: QueueParts, name: 'handlers' | 'deliveries') {
  const worker = workers.find((one) => one.name === name)
  const round = worker?.sinceRound?.()
  return {
    oldestDueSeconds: worker ? await oldestDue(worker, clock) : 0,
    lastRoundSeconds: round === undefined ? null : round / 1000,
  }
}

async function readRetention({ database, configuration }: QueueParts) {
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
async function oldestRows({ readerAside: reader }: Database): Promise<(number | null | undefined)[]> {
  const event = reader.selectFrom('events').select('created_at as at').orderBy('id').limit(1)
  const rejected = reader.selectFrom('rejected_webhooks').select('at').orderBy('id').limit(1)
  const audit = reader.selectFrom('audit_log').select('created_at as at').orderBy('created_at').limit(1)
  const rows = await Promise.all([event, rejected, audit].map((query) => query.executeTakeFirst()))
  return rows.map((row) => row?.at)
}
