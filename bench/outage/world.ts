import { setTimeout as wait } from 'node:timers/promises'
import { startOwnPostgres, type OwnPostgres } from '../../test/harness/postgres.ts'
import {
  createDatabase,
  diskFolder,
  makeFolder,
  readNumber,
  type BenchDatabase,
} from '../harness/databases.ts'
import { adminKey, production, startPostern, type Postern } from '../harness/postern.ts'
import { settle } from '../harness/settled-server.ts'
import { cpuOf, cpuOfFamily, postmasterOf } from '../measure/cpu.ts'
import { createOrders, handler } from '../process/orders.ts'

export interface WorldOptions {
  /** Bytes that the spool may hold. */
  spoolBytes: number
  /** Whether a handler writes a row for each webhook. */
  handled: boolean
}

/** A service on a PostgreSQL of its own, with a spool. */
export interface World extends AsyncDisposable {
  readonly postgres: OwnPostgres
  readonly database: BenchDatabase
  readonly postern: Postern
  /** Events in the spool, and whether the database takes webhooks as far as the service knows. */
  state(): Promise<{ spooled: number; back: boolean }>
  /** Whether every event has been processed. */
  handled(): Promise<boolean>
  /** Seconds of CPU so far; Linux only. */
  cpu(): Promise<{ postern: number; postgres: number }>
}

export async function openWorld({ spoolBytes, handled }: WorldOptions): Promise<World> {
  await using stack = new AsyncDisposableStack()
  const postgres = await startOwnPostgres({ durable: true, folder: diskFolder() })
  stack.defer(() => postgres.stop())
  await settle(postgres.url)
  const database = await createDatabase('postgres', postgres.url)
  await createOrders(database)
  const address = `file:${makeFolder()}/spool.db?max_bytes=${spoolBytes}`
  const env = { ...production, ...(handled && handler), DATABASE_URL: database.url, SPOOL_URL: address }
  const postern = await startPostern({ folder: database.folder, env })
  stack.use(postern)
  const opened = stack.move()
  return {
    postgres,
    database,
    postern,
    state: () => stateOf(postern.port),
    handled: async () =>
      (await readNumber(
        database,
        `select exists (select from event_queue where status = 'pending')::integer`,
      )) === 0,
    cpu: async () => ({
      postern: cpuOf(postern.pid),
      postgres: cpuOfFamily(await postmasterOf(database.url)),
    }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function stateOf(port: number): Promise<{ spooled: number; back: boolean }> {
  // While the database is away a look at the spool may fail once: it is asked again.
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz?for=webhooks`, {
      headers: { authorization: `Bearer ${adminKey}` },
    })
    const { status, spool } = (await response.json()) as { status: string; spool?: { events?: number } }
    if (spool?.events !== undefined) return { spooled: spool.events, back: status === 'ready' }
    await wait(200)
  }
}
