import { createDatabase, readNumber, type EngineName } from '../harness/databases.ts'
import { startHelper } from '../harness/processes.ts'
import { startRedis, type AppendFsync } from '../harness/redis.ts'
import { createAttemptLog, type SenderRound } from './attempt-log.ts'

/** A sender of webhooks as users of a queue write it. */
export interface Sender {
  name: string
  file: string
  engines: readonly EngineName[]
  redis?: AppendFsync
  /** The settings among which the fastest is looked for. */
  tunings: readonly object[]
}

export const senders: readonly Sender[] = [
  {
    name: 'sender on BullMQ',
    file: 'rivals/bullmq-sender.ts',
    engines: ['sqlite', 'postgres'],
    redis: 'always',
    tunings: [{ concurrency: 20 }, { concurrency: 100 }],
  },
  {
    name: 'sender on Graphile Worker',
    file: 'rivals/graphile-sender.ts',
    engines: ['postgres'],
    tunings: [
      { concurrentJobs: 24 },
      { concurrentJobs: 100, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
    ],
  },
]

export interface RunningSender extends AsyncDisposable {
  /** Resolves when the last delivery is written down and ticked off, with the time of that. */
  deliver(round: SenderRound<object>): Promise<number>
}

export async function startSender(
  { file, redis }: Sender,
  engine: EngineName,
  postgresServer: string | undefined,
): Promise<RunningSender> {
  await using starting = new AsyncDisposableStack()
  const database = await createDatabase(engine, postgresServer)
  await createAttemptLog(database)
  const redisPort = redis === undefined ? undefined : starting.use(await startRedis(redis)).port
  const parameters = { engine, url: database.url, redisPort }
  const helper = starting.use(
    await startHelper<object, SenderRound<object>, { endedAt: number }>(file, parameters),
  )
  const stack = starting.move()
  return {
    async deliver(round) {
      const { endedAt } = await helper.ask(round)
      const range = [`${round.prefix}-`, `${round.prefix}.`]
      const counted = 'select count(*) from attempt_log where event_id >= $1 and event_id < $2'
      const rows = await readNumber(database, counted, range)
      if (rows !== round.events * round.paths.length) throw new Error(`${rows} attempts were written down`)
      return endedAt
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
