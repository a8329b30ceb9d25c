import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { App } from './http/app.ts'
import { toProblem } from './http/responses/problem-details.ts'
import type { Worker } from './runtime/worker.ts'
import type { Database } from './storage/database.ts'
import type { NewerDatabase } from './storage/migrate.ts'
import type { SchemaWatch } from './storage/schema-watch.ts'
import type { Log } from './telemetry/log.ts'

/** What a stop must end; after a failed start, only what it had created. */
export interface Running {
  schema?: SchemaWatch
  /** Set if the process stopped working because the database belongs to a newer version. */
  newer?: NewerDatabase
  readonly database: Database
  readonly log: Log
  workers: readonly Worker[]
  app?: App
  spool?: { readonly spool: { close?(): Promise<void> } }
  /** Records what the other parts count, so it is closed after them. */
  recorder?: { close(): Promise<void>; cancel(): void }
}

/**
 * Milliseconds before the limit at which handlers and deliveries are aborted and connections closed. The remaining time is for
 * the last commits, the return of claims, and the end of the sessions.
 */
const cutBefore = 2_000
/** Milliseconds before the limit at which the stop no longer waits for parts that hang. */
const leftBefore = 500

/** Stops accepting requests, ends the workers and closes the database, within about `limit` milliseconds. */
export async function stop(running: Running, limit: number): Promise<void> {
  const { app, database, workers, log, spool, recorder } = running
  running.schema?.stop()
  // Read pending input first: a connection whose request is still in the kernel's buffer would look idle.
  await nextTurn()
  const work = limit - Math.min(cutBefore, limit / 2)
  // If the limit is shorter than the steps after the cut, it applies only to the work.
  const until = performance.now() + Math.max(limit, work + cutBefore)
  const deadline = AbortSignal.timeout(work)
  // A client that sends slowly or does not read its answer would delay the stop.
  const cut = setTimeout(() => app?.server.closeAllConnections(), Math.max(0, work - leftBefore))
  const parts = [app?.close(), ...workers.map((worker) => worker.stop(deadline))].map(async (part) =>
    part?.catch((error: unknown) => log.error({ err: error }, 'a component did not stop cleanly')),
  )
  if (!(await within(until - leftBefore, Promise.all(parts)))) log.error('a component did not stop in time')
  clearTimeout(cut)
  // Its events stay there for the next start.
  if (spool?.spool.close && !(await within(until, spool.spool.close())))
    log.warn('the spool did not close in time')
  if (recorder && !(await within(until, recorder.close())))
    log.warn('the last minute of the history of metrics could not be written in time')
  if (!(await within(until, database.close())))
    log.warn('the database did not confirm in time that its sessions ended')
}

/**
 * Ends the work of a process whose database was changed by a newer version, because writing would damage it: work in progress is
 * rolled back, all calls are refused, and other processes take over its claims as after its end. The process keeps running to
 * report the reason.
 */
export function endOutdated(running: Running, error: NewerDatabase): void {
  const { app, database, workers, log, recorder } = running
  running.newer = error
  // Without a server, the start fails and reports it.
  if (app) log.error({ err: error }, 'this process has stopped its work and returns HTTP 503')
  app?.outage.start(toProblem(error))
  if (database.engine === 'postgres') database.abandon(error)
  running.workers = []
  recorder?.cancel()
  delete running.recorder
  const now = AbortSignal.abort(error)
  for (const worker of workers)
    worker.stop(now).catch((failure: unknown) => {
      log.warn({ err: failure, worker: worker.name }, 'a worker did not stop cleanly')
    })
}

/** Whether `promise` resolves before `until`, a time of `performance.now()`. Rejects if `promise` rejects before that. */
async function within(until: number, promise: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const over = sleep(Math.max(0, until - performance.now()), false, { signal: timer.signal })
  try {
    return await Promise.race([promise.then(() => true), over])
  } finally {
    timer.abort()
    await over.catch(() => false)
  }
}
