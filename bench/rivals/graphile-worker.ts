// Graphile Worker, on the server that the handler writes to.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import { inTransaction } from '../process/order-transaction.ts'
import type { Payload } from '../process/orders.ts'
import { Countdown, payloadsOf, type RivalRound } from './round.ts'

export interface GraphileTuning {
  concurrentJobs: number
  localQueue?: { size: number }
  completeJobBatchDelay?: number
}

const { url: connectionString } = parametersOf<{ url: string }>()
const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
// It would write a line for every job.
const logger = new Logger(() => () => undefined)

answer(async (round: RivalRound<GraphileTuning>) => {
  for (const payloads of payloadsOf(round)) {
    await utils.addJobs(payloads.map((payload) => ({ identifier: 'order.paid', payload })))
  }
  await utils.withPgClient((client) => client.query('analyze'))
  const countdown = new Countdown(round.count)
  const { concurrentJobs } = round.tuning
  const runner = await run({
    preset: { worker: { connectionString, ...round.tuning, maxPoolSize: concurrentJobs + 2, logger } },
    noHandleSignals: true,
    taskList: {
      async 'order.paid'(payload, helpers) {
        await helpers.withPgClient((client) => inTransaction(client, [payload as Payload]))
        countdown.done()
      },
    },
  })
  await countdown.ended
  await runner.stop()
  return {}
})
ready()
