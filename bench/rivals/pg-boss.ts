// pg-boss, on the server that the handler writes to. Its workers fetch batches. Either each event has a transaction of its
// own, and what of a batch was committed is skipped when the batch comes again; or, as pg-boss offers, the whole batch and
// its completion are one transaction, so that an event that fails takes the others of its batch along.
import { PgBoss, type TransactionDb } from 'pg-boss'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import { openPostgresTransaction, writeOrder, type Queries } from '../process/order-transaction.ts'
import type { Payload } from '../process/orders.ts'
import { Countdown, payloadsOf, type RivalRound } from './round.ts'

export interface PgBossTuning {
  batchSize: number
  localConcurrency: number
  /** Whether a batch is one transaction. */
  transactional: boolean
}

const { url: connectionString } = parametersOf<{ url: string }>()
const name = 'orders'
const { transaction } = openPostgresTransaction(connectionString, 10)
let countdown = new Countdown(0)
const boss = new PgBoss({ connectionString, max: 20 })
boss.on('error', (error) => countdown.fail(error))
await boss.start()
await boss.createQueue(name)

answer(async (round: RivalRound<PgBossTuning>) => {
  for (const payloads of payloadsOf(round)) {
    await boss.insert(
      name,
      payloads.map((data) => ({ data })),
    )
  }
  await boss.getDb().executeSql('analyze')
  countdown = new Countdown(round.count)
  await boss.work<Payload>(
    name,
    { ...round.tuning, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    async (jobs, db) => {
      if (db) for (const { data } of jobs) await writeOrder(queriesOf(db), data)
      else for (const { data } of jobs) await transaction([data])
      countdown.done(jobs.length)
    },
  )
  await countdown.ended
  await boss.offWork(name, { wait: true })
  return {}
})
ready()

function queriesOf(db: TransactionDb): Queries {
  return {
    async query({ text, values }) {
      const { rows, rowCount } = await db.executeSql(text, values)
      return { rowCount: rowCount ?? rows.length }
    },
  }
}
