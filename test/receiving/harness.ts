import { type ChildProcess, fork } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { HandlerContext } from '../../src/index.ts'
import type { Database } from '../../src/storage/database.ts'
import { serviceEnvironment, webhookSecret, type TestService } from '../harness/service.ts'

export function sign(body: string | Uint8Array, secret = webhookSecret): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** Posts a signed webhook to a source; `headers` replace what is sent by default, null leaves one out. */
export function postWebhook(
  service: Pick<TestService, 'fetch'>,
  body: string | Uint8Array | object,
  headers: Record<string, string | null> = {},
  source = 'provider',
): Promise<Response> {
  const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const all = { 'content-type': 'application/json', 'x-signature': sign(bytes), ...headers }
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
  return service.fetch(`/webhooks/${source}`, {
    method: 'POST',
    // Bytes, so that fetch adds no content type of its own.
    body: Buffer.from(bytes as string),
    headers: sent,
  })
}

/** Milliseconds between two looks: an eighth of the time waited so far, because a look takes processor time from other tests. */
const [shortestPause, longestPause] = [5, 100]
/** Milliseconds that one look counts for at most, with its pause: a process that got no processor meanwhile has not waited. */
const longestLook = 200

/**
 * Resolves with the first truthy value that `look` gives, or fails after waiting for `limit` milliseconds. The message names what was
 * waited for: `what`, or else the condition as it is written.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  what = look.toString().replaceAll(/\s+/g, ' ').slice(0, 300),
  limit = 20_000,
): Promise<NonNullable<T>> {
  for (let waited = 0; ;) {
    const began = performance.now()
    const found = await look()
    if (found) return found
    if (waited > limit)
      throw new Error(`did not come true in ${limit / 1000} s: ${what}. It gave ${inspect(found)}`)
    await wait(Math.min(Math.max(waited / 8, shortestPause), longestPause))
    waited += Math.min(performance.now() - began, longestLook)
  }
}

/** Takes the write lock of an SQLite file as another program does, once nobody else has it: a worker may be writing. */
export const takeWriteLock = (connection: { exec(statement: string): unknown }): Promise<boolean> =>
  eventually(() => {
    try {
      connection.exec('begin immediate')
      return true
    } catch (error) {
      if (/database is locked/.test(String(error))) return false
      throw error
    }
  }, 'the write lock is free')

/** A table of a user's own, to which handlers write. */
export async function createEffects(database: Database): Promise<void> {
  const statement = 'create table effects (event_id text not null, attempt integer not null)'
  if (database.engine === 'sqlite')
    await database.batch('request', (connection) => connection.exec(statement))
  else await database.pool.query(statement)
}

/** An alias and no interface: Kysely wants tables with an index signature, which interfaces never have. */
type Effects = { effects: { event_id: string; attempt: number } }

export async function writeEffect(tx: HandlerContext['tx'], eventId: string, attempt = 1): Promise<void> {
  await tx.withTables<Effects>().insertInto('effects').values({ event_id: eventId, attempt }).execute()
}

/** The ids that handlers wrote, sorted: one for each effect. */
export async function readEffects({ reader }: Database): Promise<string[]> {
  const { rows } = await sql<{ event_id: string }>`select event_id from effects order by event_id`.execute(
    reader,
  )
  return rows.map(({ event_id }) => event_id)
}

/** Resolves when no received event waits any more. */
export function settled({ reader }: Database): Promise<boolean> {
  return eventually(async () => {
    const row = await reader
      .selectFrom('event_queue')
      .select('event')
      .where('status', 'in', ['pending', 'blocked'])
      .executeTakeFirst()
    return row === undefined
  }, 'the event queue has nothing left to process')
}

/** A service in a process of its own, which a test may kill. */
export interface CrashService extends Pick<TestService, 'fetch'> {
  child: ChildProcess
  /** The ids that its handler `stuck` has begun, in order. */
  begun: string[]
}

/** Starts `crash-service.ts`. Resolves when it serves. */
export async function startCrashService(
  databaseUrl: string,
  env: Record<string, string>,
): Promise<CrashService> {
  const child = fork(join(import.meta.dirname, 'crash-service.ts'), {
    env: { ...process.env, ...serviceEnvironment(databaseUrl), ...env },
  })
  const begun: string[] = []
  child.on('message', ({ begun: id }: { begun?: string }) => {
    if (id !== undefined) begun.push(id)
  })
  const [{ baseUrl }] = (await once(child, 'message')) as [{ baseUrl: string }]
  return { child, begun, fetch: (path, init) => fetch(new URL(path, baseUrl), init) }
}
