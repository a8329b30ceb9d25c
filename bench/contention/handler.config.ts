// The handlers whose locks are measured: each reads, and then updates one row of a table of counters.
import { sql } from 'kysely'
import { defineConfig, type HandlerContext } from '../../src/index.ts'
import type { Payload } from '../process/orders.ts'

/** The settings of the bench: the number of rows that all events share, or 0 for a row for each event. */
const rows = Number(process.env['CONTENTION_ROWS'])

export default defineConfig({
  receiving: {
    handlers: {
      'order.paid': (event, { tx }) => count(tx, event.id, (event.payload as Payload).id),
    },
  },
})

async function count(tx: HandlerContext['tx'], event: string, id: string): Promise<void> {
  const number = Number(id.slice(id.lastIndexOf('-') + 1))
  const row = rows === 0 ? number : number % rows
  await sql`select 1 as one`.execute(tx)
  await sql`update counters set n = n + 1, event = ${event} where id = ${row}`.execute(tx)
}
