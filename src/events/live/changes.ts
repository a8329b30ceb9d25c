import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { topicsOfAction, type Topic } from './topics.ts'

/** The newest rows of each table that one look compares with those of the look before. */
interface Recent {
  kind: 'failure' | 'delivery' | 'dead' | 'job' | 'refusal' | 'audit'
  id: string
  state: string
}

export interface Changes {
  topics: Set<Topic>
  /** Received events whose last attempt failed, or that a retry has processed. */
  events: number[]
}

/**
 * One statement for all tables. Each part is the end of an index, so its cost does not depend on the size of the tables.
 * A row that commits late is still among the newest ones at the next look.
 */
const recent = sql<Recent>`
  select 'failure' as kind, cast(event as text) as id, status || ' ' || failed_at as state from (
    select event, status, failed_at from event_queue where failed_at is not null order by failed_at desc limit 50) f
  union all select 'delivery', cast(id as text), status || ' ' || attempts from (
    select id, status, attempts from deliveries order by id desc limit 100) d
  union all select 'dead', cast(id as text), cast(finished_at as text) from (
    select id, finished_at from deliveries where status = 'dead' order by finished_at desc limit 20) e
  union all select 'job', id, status || ' ' || done from (
    select id, status, done from jobs order by id desc limit 20) j
  union all select 'refusal', cast(id as text), '' from (
    select id from rejected_webhooks order by id desc limit 5) r
  union all select 'audit', cast(seq as text), action from (
    select seq, action from audit_log order by seq desc limit 50) a`

const topicsOf: Readonly<Record<Exclude<Recent['kind'], 'audit'>, readonly Topic[]>> = {
  failure: ['failures', 'handlers'],
  delivery: ['deliveries'],
  dead: ['deliveries', 'subscribers'],
  job: ['jobs'],
  refusal: ['sources'],
}

/** Compares the newest rows of the tables that pages show with those of the look before. */
export class ChangeWatch {
  readonly #database: Database
  #before: ReadonlyMap<string, string> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** The next look has nothing to compare with, and finds no changes. */
  forget(): void {
    this.#before = undefined
  }

  /** @throws StorageUnavailable */
  async look(): Promise<Changes> {
    const { rows } = await recent.execute(this.#database.readerAside)
    const before = this.#before
    const now = new Map<string, string>()
    const changes: Changes = { topics: new Set(), events: [] }
    for (const { kind, id, state } of rows) {
      const key = `${kind} ${id}`
      now.set(key, state)
      if (!before || before.get(key) === state) continue
      const about = kind === 'audit' ? topicsOfAction(state) : topicsOf[kind]
      for (const topic of about) changes.topics.add(topic)
      if (kind === 'failure') changes.events.push(Number(id))
    }
    this.#before = now
    return changes
  }
}
