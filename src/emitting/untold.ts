import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Worker } from '../http/room.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Notices } from './notices.ts'

/** How far back a start looks, in milliseconds, and how many dead letters it looks at. */
const span = 3_600_000
const most = 10_000

export interface UntoldParts {
  database: Database
  notices: Pick<Notices, 'tellDead'>
  clock: Clock
  log: Log
}

/**
 * A process that is killed between writing a dead letter down and telling of it leaves it untold. So each start tells of
 * those of the last hour once more; the ids of these events make that nothing where it was done. What else is told goes by
 * the state of the subscriber, which changes with the telling: there the next attempt does what was left.
 */
export class Untold implements Worker {
  readonly name = 'untold dead letters'
  readonly #parts: UntoldParts
  #working: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: UntoldParts) {
    this.#parts = parts
  }

  start(): void {
    this.#working = this.#tell().catch((error: unknown) =>
      this.#parts.log.error({ err: error }, 'dead letters of before the start could not be looked at'),
    )
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#working
  }

  async #tell(): Promise<void> {
    const { database, notices, clock } = this.#parts
    const admins = await database.reader
      .selectFrom('subscribers')
      .select('id')
      .where('operational', '=', 1)
      .executeTakeFirst()
    if (!admins) return
    const rows = await database.reader
      .selectFrom('deliveries as d')
      .innerJoin('subscribers as s', 's.id', 'd.subscriber_id')
      .innerJoin('events as e', 'e.id', 'd.event')
      .leftJoin('attempts as a', (join) =>
        join.onRef('a.delivery', '=', 'd.id').onRef('a.number', '=', 'd.attempts'),
      )
      .select(['d.id', 'd.event', 'd.attempts', 'd.attempts_before', 'e.event_id', 'e.type'])
      .select(['s.id as subscriber', 's.url', 's.owner', 'a.status', 'a.error'])
      // A literal, which the partial index asks for.
      .where('d.status', '=', sql.lit('dead' as const))
      .where('d.finished_at', '>=', clock.now() - span)
      .where('s.operational', '=', 0)
      .orderBy('d.finished_at')
      .limit(most)
      .execute()
    for (const row of rows) {
      if (this.#stopped) return
      const { id, event, attempts, event_id, type, status, error } = row
      await notices.tellDead(
        { id: row.subscriber, url: row.url, owner: row.owner },
        { id, event, number: attempts, begun: attempts - row.attempts_before },
        { event_id, type },
        { status, error },
      )
    }
  }
}
