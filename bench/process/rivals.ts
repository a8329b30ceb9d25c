// The other products, each in the ways that its users would run it.
import type { BullMqTuning } from '../rivals/bullmq.ts'
import type { GraphileTuning } from '../rivals/graphile-worker.ts'
import type { PgBossTuning } from '../rivals/pg-boss.ts'
import type { Rival } from '../rivals/start.ts'

const bullmq: readonly BullMqTuning[] = [{ concurrency: 1 }, { concurrency: 8 }, { concurrency: 50 }]
const graphile: readonly GraphileTuning[] = [
  { concurrentJobs: 8 },
  { concurrentJobs: 8, localQueue: { size: 100 }, completeJobBatchDelay: 0 },
  { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
]
const pgBoss = (transactional: boolean): readonly PgBossTuning[] => [
  { batchSize: 20, localConcurrency: 8, transactional },
  { batchSize: 50, localConcurrency: 4, transactional },
  { batchSize: 200, localConcurrency: 2, transactional },
]

export const rivals: readonly Rival[] = [
  {
    name: 'BullMQ on Redis (appendfsync always)',
    file: 'rivals/bullmq.ts',
    tunings: bullmq,
    redis: 'always',
    engines: ['sqlite', 'postgres'],
    bound: 3,
  },
  {
    name: 'BullMQ on Redis (appendfsync everysec, which may lose a second)',
    file: 'rivals/bullmq.ts',
    tunings: bullmq,
    redis: 'everysec',
    engines: ['sqlite', 'postgres'],
  },
  {
    name: 'Graphile Worker',
    file: 'rivals/graphile-worker.ts',
    tunings: graphile,
    engines: ['postgres'],
    bound: 3,
  },
  {
    name: 'pg-boss, a transaction for each event',
    file: 'rivals/pg-boss.ts',
    tunings: pgBoss(false),
    engines: ['postgres'],
    bound: 3,
  },
  {
    name: 'pg-boss, a transaction for each batch',
    file: 'rivals/pg-boss.ts',
    tunings: pgBoss(true),
    engines: ['postgres'],
    bound: 3,
  },
]

/**
 * Tries every setting once, after a first run that does not count, and tells which is the fastest.
 * @param run puts so many events into the rival's queue, then lets it process them with a setting; events per second
 */
export async function tune(
  { name, tunings }: Rival,
  run: (prefix: string, count: number, tuning: object) => Promise<number>,
  count: number,
  step: (what: string) => void,
): Promise<{ tuning: object; note: string }> {
  const rates: number[] = []
  await run('first', count, tunings[0]!)
  for (const [index, tuning] of tunings.entries()) {
    step(`${name}, setting ${index + 1} of ${tunings.length}`)
    rates.push(await run(`setting${index}`, count, tuning))
  }
  const best = rates.indexOf(Math.max(...rates))
  const tried = tunings.map((tuning, index) => `${describe(tuning)} ${Math.round(rates[index]!)}/s`)
  return {
    tuning: tunings[best]!,
    note: `${name} ran as ${describe(tunings[best]!)}; tried: ${tried.join(', ')}.`,
  }
}

/** `concurrentJobs 8, localQueue.size 100`. */
function describe(tuning: object, prefix = ''): string {
  return Object.entries(tuning)
    .map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? describe(value, `${prefix}${name}.`)
        : `${prefix}${name} ${String(value)}`,
    )
    .join(', ')
}
