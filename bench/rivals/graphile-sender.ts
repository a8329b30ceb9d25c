// A sender of webhooks on Graphile Worker: one job for each delivery, and a log of attempts in the same database.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { send, tasksOf, writeWith, type SenderRound, type Task } from '../deliver/attempt-log.ts'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import type { GraphileTuning } from './graphile-worker.ts'
import { Countdown } from './round.ts'

const { url: connectionString } = parametersOf<{ url: string }>()
const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
const logger = new Logger(() => () => undefined)

answer(async (round: SenderRound<GraphileTuning>) => {
  const tasks = tasksOf(round)
  for (let first = 0; first < tasks.length; first += 1_000) {
    const some = tasks.slice(first, first + 1_000)
    await utils.addJobs(some.map((payload) => ({ identifier: 'deliver', payload })))
  }
  await utils.withPgClient((client) => client.query('analyze'))
  const countdown = new Countdown(tasks.length)
  const runner = await run({
    preset: { worker: { connectionString, ...round.tuning, maxPoolSize: 24, logger } },
    noHandleSignals: true,
    taskList: {
      // The client is taken for the row alone: nobody holds a connection while a subscriber is waited for.
      async deliver(payload, helpers) {
        await send(payload as Task, (row) => helpers.withPgClient((client) => writeWith(client)(row)))
        countdown.done()
      },
    },
  })
  await countdown.ended
  const endedAt = performance.timeOrigin + performance.now()
  await runner.stop()
  return { endedAt }
})
ready()
