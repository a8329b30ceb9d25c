import { readNumber, type EngineName } from '../harness/databases.ts'
import { startRival, type Rival } from '../rivals/start.ts'
import { createAttemptLog, type SenderRound } from './attempt-log.ts'

/** Senders of webhooks as users of a queue write them. */
export const senders: readonly Rival[] = [
  {
    name: 'sender on BullMQ',
    file: 'rivals/bullmq-sender.ts',
    engines: ['sqlite', 'postgres'],
    redis: 'always',
    tunings: [{ concurrency: 20 }, { concurrency: 100 }],
    bound: 3,
  },
  {
    name: 'sender on Graphile Worker',
    file: 'rivals/graphile-sender.ts',
    engines: ['postgres'],
    tunings: [
      { concurrentJobs: 24 },
      { concurrentJobs: 100, localQueue: { size: 500 }, completeJobBatchDelay: 0 },
    ],
    bound: 3,
  },
]

/** Returns what delivers a round: it resolves when the last delivery is written down and ticked off, with the time of that. */
export async function startSender(
  stack: AsyncDisposableStack,
  sender: Rival,
  engine: EngineName,
  postgresServer: string | undefined,
): Promise<(round: SenderRound<object>) => Promise<number>> {
  const { database, helper } = await startRival<SenderRound<object>, { endedAt: number }>(
    stack,
    sender,
    engine,
    postgresServer,
    createAttemptLog,
  )
  return async (round) => {
    const { endedAt } = await helper.ask(round)
    const range = [`${round.prefix}-`, `${round.prefix}.`]
    const counted = 'select count(*) from attempt_log where event_id >= $1 and event_id < $2'
    const rows = await readNumber(database, counted, range)
    if (rows !== round.events * round.paths.length) throw new Error(`${rows} attempts were written down`)
    return endedAt
  }
}
