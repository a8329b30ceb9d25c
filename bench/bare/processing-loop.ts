// The least that processing an event exactly once takes: its marker and its row in one transaction, from memory, with no
// queue, no claims, no retries and no log.
import type { EngineName } from '../harness/databases.ts'
import { answer, parametersOf, ready } from '../harness/child-process.ts'
import { sampleBody } from '../load/sample.ts'
import { openPostgresTransaction, openSqliteTransaction } from '../process/order-transaction.ts'
import type { Payload } from '../process/orders.ts'

export interface Processing {
  prefix: string
  count: number
  /** Events in one transaction. */
  perCommit: number
}

const { engine, url } = parametersOf<{ engine: EngineName; url: string }>()
/** PostgreSQL writes the commits that wait together to the disk at once; SQLite has one writer. */
const connections = engine === 'sqlite' ? 1 : 32
const transaction =
  engine === 'sqlite' ? openSqliteTransaction(url) : openPostgresTransaction(url, connections).transaction

answer(async ({ prefix, count, perCommit }: Processing) => {
  const bodies = Array.from({ length: count }, (_, index) =>
    sampleBody({ id: `${prefix}-${index}`, type: 'order.paid' }),
  )
  let next = 0
  const loop = async (): Promise<void> => {
    while (next < count) {
      const first = next
      next += perCommit
      await transaction(bodies.slice(first, first + perCommit).map((body) => JSON.parse(body) as Payload))
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return {}
})
ready()
