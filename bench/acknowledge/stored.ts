import { setTimeout as wait } from 'node:timers/promises'
import { readNumber, type BenchDatabase } from '../harness/databases.ts'

const patience = 60_000

/**
 * Counts what a round left in the database, past the service: a row in the event queue and one in the log for each event.
 * @throws Error when an acknowledged event is not there
 */
export async function countKept(database: BenchDatabase, prefix: string, expected: number): Promise<void> {
  const sql = `
    select count(*) from event_queue join events on events.id = event_queue.event
    where event_queue.source = 'provider' and event_queue.event_id >= $1 and event_queue.event_id < $2`
  const read = (): Promise<number> => readNumber(database, sql, [`${prefix}-`, `${prefix}.`])
  // An acknowledged event may lie in the spool for a moment, which is as durable.
  const kept = await until(read, (count) => count === expected)
  if (kept !== expected) throw new Error(`${expected} events were acknowledged, ${kept} are in the database`)
}

/** Waits until no event is due any more. */
export async function waitUntilHandled(database: BenchDatabase): Promise<void> {
  const pending = await until(
    () => readNumber(database, `select count(*) from event_queue where status = 'pending'`),
    (count) => count === 0,
  )
  if (pending > 0) throw new Error(`${pending} events were not handled within ${patience / 1000} s`)
}

async function until(read: () => Promise<number>, enough: (value: number) => boolean): Promise<number> {
  const deadline = performance.now() + patience
  for (;;) {
    const value = await read()
    if (enough(value) || performance.now() > deadline) return value
    await wait(50)
  }
}
