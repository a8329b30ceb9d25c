// BullMQ on Redis, with a handler that writes into a database of its own.
import { Queue, Worker } from 'bullmq'
import type { EngineName } from '../harness/databases.ts'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import {
  openPostgresTransaction,
  openSqliteTransaction,
  type Transaction,
} from '../process/order-transaction.ts'
import type { Payload } from '../process/orders.ts'
import { Countdown, payloadsOf, type RivalRound } from './round.ts'

export interface BullMqTuning {
  concurrency: number
}

const { engine, url, redisPort } = parametersOf<{ engine: EngineName; url: string; redisPort: number }>()
const connection = { host: '127.0.0.1', port: redisPort }
const queue = new Queue('orders', { connection })
const sqlite = engine === 'sqlite' ? openSqliteTransaction(url) : undefined

async function withTransaction(connections: number, work: (transaction: Transaction) => Promise<void>) {
  if (sqlite) return work(sqlite)
  const { transaction, close } = openPostgresTransaction(url, connections)
  await work(transaction)
  return close()
}

answer(async (round: RivalRound<BullMqTuning>) => {
  for (const payloads of payloadsOf(round)) {
    await queue.addBulk(payloads.map((data) => ({ name: 'order.paid', data, opts: { attempts: 5 } })))
  }
  const { concurrency } = round.tuning
  await withTransaction(concurrency, async (transaction) => {
    const countdown = new Countdown(round.count)
    const worker = new Worker<Payload>('orders', ({ data }) => transaction([data]), {
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
    await worker.close()
    await running
  })
  return {}
})
ready()
