import { type Static, Type } from 'typebox'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { App } from '../app.ts'
import type { SpoolStatus, ModuleParts } from '../service-module.ts'
import { StorageUnavailable, withinTime } from '../../storage/unavailable.ts'

/** The state of a spool in the answer of /readyz. */
export const SpoolReport = Type.Object(
  {
    status: Type.Union([Type.Literal('ok'), Type.Literal('full'), Type.Literal('unavailable')]),
    events: Type.Optional(Type.Integer({ description: 'Acknowledged webhooks that lie in it' })),
    oldestSeconds: Type.Optional(Type.Number({ description: 'Age of the oldest of them' })),
  },
  {
    description:
      'Where webhooks are stored while the database is unavailable, with `SPOOL_URL`; on SQLite also if the spool beside the file cannot be read',
  },
)

/** Milliseconds; a load balancer waits for some seconds for the answer, and the spool is one part of it. */
const answerWithin = 1_000

/** The state of a spool; `unavailable` if it does not answer within a second. */
export async function spoolReport(spool: SpoolStatus, clock: Clock): Promise<Static<typeof SpoolReport>> {
  try {
    const asked = withinTime(clock, answerWithin, spool.state(), 'the spool does not respond')
    const { events, oldest, full } = await asked
    const now = clock.now()
    return {
      status: full ? 'full' : 'ok',
      events,
      oldestSeconds: oldest === undefined ? 0 : Math.max(0, (now - oldest) / 1000),
    }
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    return { status: 'unavailable' }
  }
}

export interface ReadinessParts extends Pick<ModuleParts, 'database' | 'clock' | 'configuration'> {
  workers: readonly Worker[]
  /** Stores webhooks while the database is away. */
  spool?: SpoolStatus | undefined
  /** Whether the disk did not take the last webhooks, within the last seconds: a database on a full disk answers all the same. */
  isRefusing?: (() => boolean) | undefined
  /** On SQLite: checks the spool beside the database. @throws StorageUnavailable if no webhook can be stored because of it */
  checkSpool?: (() => Promise<void>) | undefined
}

/** Seconds without a worker's round with the database after which the process is not ready. It must say so within 15 s. */
const longestRound = 10
/** Age of due work in seconds from which on workers count as stalled. */
export const stalledAfter = 120

export const Readiness = Type.Object({
  status: Type.String(),
  database: Type.String(),
  oldestDueSeconds: Type.Record(Type.String(), Type.Number(), {
    description:
      'Age of the oldest due work by worker: handlers, deliveries, and the jobs of replays, reprocessings and removals',
  }),
  lastRoundSeconds: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'Time since the last round with the database of each worker of this process',
    }),
  ),
  spool: Type.Optional(SpoolReport),
})

interface ReadinessAnswer {
  code: 200 | 503
  body: Static<typeof Readiness>
}

/** Whether the process can serve: all of its tasks, or only receive webhooks, which a spool makes possible without the database. */
export async function readReadiness(
  app: App,
  parts: ReadinessParts,
  forWebhooks: boolean,
): Promise<ReadinessAnswer> {
  if (app.closing.begun) return answer('stopping', 'not asked')
  if (app.outage.problem) return answer('outdated', 'newer')
  const { spool, clock } = parts
  const report = spool && (await spoolReport(spool, clock))
  const more = report ? { spool: report } : {}
  if (!forWebhooks) return readWorkers(parts, more)
  // The database is not asked: without an answer, that takes seconds.
  if (spool && report?.status === 'ok')
    return spool.away ? answer('spooling', 'unavailable', more) : answer('ready', 'ok', more)
  // Webhooks go to the spool, which takes none, until a check finds that the database is back.
  if (spool?.away) return answer('unavailable', 'unavailable', more)
  return (await findFault(parts, more)) ?? answer('ready', 'ok', more)
}

async function readWorkers(
  parts: ReadinessParts,
  more: Partial<ReadinessAnswer['body']>,
): Promise<ReadinessAnswer> {
  const { workers, clock } = parts
  const rounds = Object.fromEntries(
    workers.flatMap((worker) => (worker.sinceRound ? [[worker.name, worker.sinceRound() / 1000]] : [])),
  )
  const ages: Record<string, number> = {}
  const all = { oldestDueSeconds: ages, lastRoundSeconds: rounds, ...more }
  const found = await findFault(parts, all)
  if (found) return found
  try {
    for (const worker of workers) if (worker.oldestDue) ages[worker.name] = await oldestDue(worker, clock)
  } catch {
    return answer('unavailable', 'unavailable', all)
  }
  const isStalled =
    Object.values(ages).some((age) => age > stalledAfter) ||
    Object.values(rounds).some((age) => age > longestRound)
  return answer(isStalled ? 'stalled' : 'ready', 'ok', all)
}

/** The answer for a database that cannot be used, or whose spool cannot. Its users log why. */
async function findFault(
  { database, isRefusing, checkSpool }: ReadinessParts,
  more: Partial<ReadinessAnswer['body']>,
): Promise<ReadinessAnswer | undefined> {
  if (await fails(database.ping())) return answer('unavailable', 'unavailable', more)
  if (checkSpool && (await fails(checkSpool())))
    return answer('unavailable', 'ok', { spool: { status: 'unavailable' }, ...more })
  return isRefusing?.() ? answer('unavailable', 'unavailable', more) : undefined
}

function fails(check: Promise<void>): Promise<boolean> {
  return check.then(
    () => false,
    () => true,
  )
}

const readyStatuses = new Set(['ready', 'spooling'])

function answer(
  status: string,
  database: string,
  more: Partial<ReadinessAnswer['body']> = {},
): ReadinessAnswer {
  return {
    code: readyStatuses.has(status) ? 200 : 503,
    body: { status, database, oldestDueSeconds: {}, ...more },
  }
}

/** The age of the oldest due work of all workers, in milliseconds. */
export async function oldestOfAll(workers: readonly Worker[], clock: Clock): Promise<number> {
  let oldest = 0
  for (const worker of workers) oldest = Math.max(oldest, await oldestDue(worker, clock))
  return oldest * 1000
}

/** Age of a worker's oldest due work, in seconds. */
export async function oldestDue(worker: Worker, clock: Clock): Promise<number> {
  const due = await worker.oldestDue?.()
  return due === undefined ? 0 : Math.max(0, (clock.now() - due) / 1000)
}
