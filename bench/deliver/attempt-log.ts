// How users of a queue send webhooks: sign, post, and keep a row of what came of it, in one task for each delivery.
import { createHmac } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { Agent } from 'undici'
import { execute, type BenchDatabase } from '../harness/databases.ts'
import { sampleBody } from '../load/sample.ts'

/** One delivery, as it is put into the queue. */
export interface Task {
  origin: string
  path: string
  id: string
  body: string
}

/** What the tasks of one round are. */
export interface SenderRound<Tuning> {
  origin: string
  paths: readonly string[]
  events: number
  bytes: number
  prefix: string
  tuning: Tuning
}

export function tasksOf({ origin, paths, events, bytes, prefix }: SenderRound<unknown>): Task[] {
  return Array.from({ length: events }, (_, index) => {
    const id = `${prefix}-${index}`
    const body = sampleBody({ id, type: 'order.paid' }, bytes)
    return paths.map((path) => ({ origin, path, id, body }))
  }).flat()
}

/** The same columns as Postern's own log. */
export async function createAttemptLog(database: BenchDatabase): Promise<void> {
  const bytes = database.engine === 'sqlite' ? 'blob' : 'bytea'
  await execute(
    database,
    `create table attempt_log (event_id text not null, subscriber text not null, number integer not null, at bigint not null,
      duration_ms integer not null, status integer, error text, request_headers text not null, response_headers text,
      response_body ${bytes}, primary key (event_id, subscriber, number))`,
  )
}

const insert = `insert into attempt_log (event_id, subscriber, number, at, duration_ms, status, error, request_headers,
  response_headers, response_body) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

type Row = (string | number | Uint8Array | null)[]
export type Write = (row: Row) => Promise<unknown>

/** The part of a PostgreSQL client that is used here, so that each library may pass its own. */
export interface Queries {
  query(query: { name: string; text: string; values: unknown[] }): Promise<unknown>
}

export const writeWith =
  (client: Queries): Write =>
  (values) =>
    client.query({ name: 'attempt', text: insert, values })

/** One connection, in WAL mode, whose commits are on the disk when they return; or a pool of so many. */
export function openLog(
  { engine, url }: Pick<BenchDatabase, 'engine' | 'url'>,
  connections: number,
): { write: Write; close: () => Promise<void> } {
  if (engine === 'postgres') {
    const pool = new pg.Pool({ connectionString: url, max: connections })
    return { write: writeWith(pool), close: () => pool.end() }
  }
  const database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 })
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  const statement = database.prepare(insert.replaceAll(/\$\d+/g, '?'))
  return { write: async (row) => statement.run(...row), close: async () => database.close() }
}

const agent = new Agent({ allowH2: false })
const key = Buffer.alloc(32, 7)

/** Sends one, and writes down what came of it. Throws for the queue to try again. */
export async function send({ origin, path, id, body }: Task, write: Write): Promise<void> {
  const at = Date.now()
  const timestamp = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp }
  const response = await agent.request({
    origin,
    path,
    method: 'POST',
    headers: { ...headers, 'webhook-signature': `v1,${signature}` },
    body,
    signal: AbortSignal.timeout(15_000),
  })
  const answer = Buffer.from(await response.body.arrayBuffer())
  const shown = JSON.stringify(headers)
  const answered = JSON.stringify(response.headers)
  const took = Date.now() - at
  await write([id, path, 1, at, took, response.statusCode, null, shown, answered, answer])
  if (response.statusCode > 299) throw new Error(`answered ${response.statusCode}`)
}
