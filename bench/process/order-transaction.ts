// The handler of everybody who keeps the books himself: the id of the event in a table with a unique key, and the row,
// in one transaction. What was processed before is left alone.
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Payload } from './orders.ts'

const mark =
  'insert into processed_events (event_id, processed_at) values ($1, $2) on conflict (event_id) do nothing'
const insert = 'insert into orders (event_id, number, customer, currency) values ($1, $2, $3, $4)'

/** The part of a PostgreSQL client that is used here, so that each library may pass its own. */
export interface Queries {
  query(query: { name?: string; text: string; values?: unknown[] }): Promise<{ rowCount: number | null }>
}

/** Writes the marker and the row, in the transaction that the client is in. */
export async function writeOrder(client: Queries, { id, data }: Payload): Promise<void> {
  const { rowCount } = await client.query({ name: 'mark', text: mark, values: [id, Date.now()] })
  if (rowCount === 0) return
  const values = [id, data.order, data.customer, data.currency]
  await client.query({ name: 'insert', text: insert, values })
}

/** Processes events in one transaction. */
export type Transaction = (payloads: readonly Payload[]) => Promise<void>

/** One connection, in WAL mode, whose commits are on the disk when they return. */
export function openSqliteTransaction(url: string): Transaction {
  const database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 })
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const markStatement = database.prepare(mark.replaceAll(/\$\d/g, '?'))
  const insertStatement = database.prepare(insert.replaceAll(/\$\d/g, '?'))
  return async (payloads) => {
    begin.run()
    try {
      for (const { id, data } of payloads) {
        if (markStatement.run(id, Date.now()).changes === 0) continue
        insertStatement.run(id, data.order, data.customer, data.currency)
      }
      commit.run()
    } catch (error) {
      rollback.run()
      throw error
    }
  }
}

/** A pool of so many connections. */
export function openPostgresTransaction(
  url: string,
  connections: number,
): { transaction: Transaction; close: () => Promise<void> } {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  return {
    async transaction(payloads) {
      const client = await pool.connect()
      try {
        await inTransaction(client, payloads)
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

/** From `begin` to `commit` on a client that is in no transaction. */
export async function inTransaction(client: Queries, payloads: readonly Payload[]): Promise<void> {
  await client.query({ text: 'begin' })
  try {
    for (const payload of payloads) await writeOrder(client, payload)
    await client.query({ text: 'commit' })
  } catch (error) {
    await client.query({ text: 'rollback' })
    throw error
  }
}
