// A sender of webhooks on BullMQ: one job for each delivery, and a log of attempts in the database.
import { Queue, Worker } from 'bullmq'
import { openLog, send, tasksOf, type SenderRound, type Task } from '../deliver/attempt-log.ts'
import type { EngineName } from '../harness/databases.ts'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import type { BullMqTuning } from './bullmq.ts'
import { Countdown } from './round.ts'

const { engine, url, redisPort } = parametersOf<{ engine: EngineName; url: string; redisPort: number }>()
const connection = { host: '127.0.0.1', port: redisPort }
const queue = new Queue('deliveries', { connection })

answer(async (round: SenderRound<BullMqTuning>) => {
  const tasks = tasksOf(round)
  for (let first = 0; first < tasks.length; first += 1_000) {
    const some = tasks.slice(first, first + 1_000)
    await queue.addBulk(some.map((data) => ({ name: 'deliver', data, opts: { attempts: 10 } })))
  }
  const { concurrency } = round.tuning
  const log = openLog({ engine, url }, Math.min(24, concurrency))
  const countdown = new Countdown(tasks.length)
  const worker = new Worker<Task>('deliveries', ({ data }) => send(data, log.write), {
    connection,
    concurrency,
    removeOnComplete: { count: 0 },
    autorun: false,
  })
    .on('completed', () => countdown.done())
    .on('failed', (_, error) => countdown.fail(error))
    .on('error', (error) => countdown.fail(error))
  const running = worker.run()
  await countdown.ended
  const endedAt = performance.timeOrigin + performance.now()
  await worker.close()
  await running
  await log.close()
  return { endedAt }
})
ready()
