// The other products, each in the ways that its users would run it.
import type { EngineName } from '../harness/databases.ts'
import { redisVersion, type AppendFsync } from '../harness/redis.ts'
import type { BullMqTuning } from '../rivals/bullmq.ts'
import type { GraphileTuning } from '../rivals/graphile-worker.ts'
import { installRivals } from '../rivals/install.ts'
import type { PgBossTuning } from '../rivals/pg-boss.ts'

export interface Rival {
  name: string
  file: string
  /** The settings among which the fastest is looked for, most of them from the product's own advice. */
  tunings: readonly object[]
  /** The Redis that it needs. */
  redis?: AppendFsync
  engines: readonly EngineName[]
  /** What Postern is to reach of it. */
  bound?: number
}

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

/** What of them can be measured here, and why not the others. */
export async function availableRivals(): Promise<{ available: Rival[]; notes: string[] }> {
  const failure = await installRivals()
  if (failure !== undefined) return { available: [], notes: [`No other product was measured: ${failure}.`] }
  const version = redisVersion()
  if (version !== undefined) return { available: [...rivals], notes: [`Redis ${version}.`] }
  return {
    available: rivals.filter(({ redis }) => redis === undefined),
    notes: [
      'BullMQ was not measured: redis-server is not installed (on Debian: apt-get install redis-server).',
    ],
  }
}
