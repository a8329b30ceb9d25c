import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Replica } from '../database.ts'
import { millisecondsSince, thisMoment, type Moment } from '../moment.ts'
import { bounded } from './bounded-query.ts'
import type { OpenPool } from './pool.ts'
import { queryRows, type RowsStatement, type RowValue } from './rows-query.ts'

/** Milliseconds between two beats. */
const beatEvery = 500
/** Milliseconds without a question after which no more beats are written. */
const wantedFor = 10_000
/** Milliseconds since a beat in which a session that has it is not asked again. */
const knownFor = 1_000
/** Milliseconds that a beat and a look may take. */
const answerWithin = 2_000
/** Beats that are remembered: older ones are of no use, since `maxAge` is five minutes at most. */
const mostBeats = 1_000
/** Milliseconds after which the row of a process that beats no more is removed. */
const keptFor = 3_600_000

const writeBeat = `insert into replica_beats (process, beat, beat_at) values ($1, $2, $3)
  on conflict (process) do update set beat = excluded.beat, beat_at = excluded.beat_at`
const removeOld = 'delete from replica_beats where beat_at < $1'
const readBeat = 'select beat from replica_beats where process = $1'

/** The standby does not have what it would need for this answer. */
export class ReplicaBehind extends Error {
  constructor() {
    super('the standby is too far behind, or out of reach')
    this.name = 'ReplicaBehind'
  }
}

export interface ReplicaParts {
  primary: Pool
  standby: OpenPool
  /** One more connection, so that a look waits for no list. */
  looks: OpenPool
  /** Whether a connection may be given another session for each transaction. */
  pooled: boolean
  /** Told when the standby begins to be used, and when it no more is. */
  onChange: (usable: boolean, reason?: Error) => void
}

/**
 * A standby, and how far it is behind at most. While lists are read, this process writes a growing number on the primary, twice a
 * second, and remembers when it sent each. A session of the standby that shows a number has everything that was committed before
 * that number was sent. No clock of another machine is asked, and nothing of the replication itself: a standby whose replay is
 * paused, that lost its primary, or that follows another one, shows no new number. See docs/adr/0032.
 */
export class PostgresReplica implements Replica {
  readonly #parts: ReplicaParts
  readonly #process = randomUUID()
  readonly #sent = new Map<number, Moment>()
  /** When the newest beat was sent that a session is known to have. */
  readonly #sessions = new WeakMap<PoolClient, Moment>()
  #beat = 0
  /** When the newest beat was sent that a look has found on the standby. */
  #seen: Moment | undefined
  #wanted = Number.NEGATIVE_INFINITY
  #beating: Promise<void> | undefined
  readonly #closed = new AbortController()
  #told: boolean | undefined
  /** Called when a look fails: what is asked on the standby then is not waited for. */
  readonly #waiting = new Set<() => void>()

  constructor(parts: ReplicaParts) {
    this.#parts = parts
  }

  usable(maxAge: number): boolean {
    this.#wanted = performance.now()
    if (!this.#closed.signal.aborted) this.#beating ??= this.#beatWhileWanted()
    return this.#seen !== undefined && millisecondsSince(this.#seen) <= maxAge
  }

  async rows(statement: RowsStatement, maxAge: number): Promise<{ rows: RowValue[][]; asOf: Moment }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ rows: RowValue[][]; asOf: Moment }>()
    const giveUp = (): void => reject(new ReplicaBehind())
    this.#waiting.add(giveUp)
    this.#rows(statement, maxAge).then(resolve, reject)
    try {
      return await promise
    } finally {
      this.#waiting.delete(giveUp)
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.all([this.#beating, this.#parts.standby.close(), this.#parts.looks.close()])
  }

  async #rows(statement: RowsStatement, maxAge: number): Promise<{ rows: RowValue[][]; asOf: Moment }> {
    const client = await this.#parts.standby.pool.connect()
    let failed = true
    try {
      const known = this.#sessions.get(client)
      const { rows, asOf } =
        known && millisecondsSince(known) <= Math.min(knownFor, maxAge / 2)
          ? { rows: await queryRows(client, statement), asOf: known }
          : await this.#rowsBehindBeat(client, statement)
      failed = false
      if (!asOf || millisecondsSince(asOf) > maxAge) throw new ReplicaBehind()
      return { rows, asOf }
    } finally {
      client.release(failed)
    }
  }

  /** On one session, one behind the other: an address may lead to several standbys. */
  async #rowsBehindBeat(
    client: PoolClient,
    statement: RowsStatement,
  ): Promise<{ rows: RowValue[][]; asOf: Moment | undefined }> {
    const { pooled } = this.#parts
    // What it fails with, so does what follows.
    if (pooled) client.query('begin').catch(() => undefined)
    const [beat, rows] = await Promise.all([
      client.query<{ beat: number }>({ name: 'replica_beat', text: readBeat, values: [this.#process] }),
      queryRows(client, statement),
      pooled && client.query('commit'),
    ])
    const asOf = this.#sentAt(beat.rows[0]?.beat)
    // A session never goes back; through a pooler the next statement may have another one.
    if (asOf && !pooled) this.#sessions.set(client, asOf)
    return { rows, asOf }
  }

  #sentAt(beat: number | undefined): Moment | undefined {
    return beat === undefined ? undefined : this.#sent.get(beat)
  }

  async #beatWhileWanted(): Promise<void> {
    await this.#query(removeOld, [Date.now() - keptFor]).catch((error: unknown) => this.#fail(error))
    while (!this.#closed.signal.aborted && performance.now() - this.#wanted < wantedFor) {
      const began = performance.now()
      try {
        await this.#writeBeat()
        await this.#look()
      } catch (error) {
        this.#fail(error)
      }
      const rest = Math.max(50, beatEvery - (performance.now() - began))
      await sleep(rest, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined)
    }
    this.#beating = undefined
  }

  async #writeBeat(): Promise<void> {
    this.#beat += 1
    const beat = this.#beat
    this.#sent.set(beat, thisMoment())
    this.#sent.delete(beat - mostBeats)
    await this.#query(writeBeat, [this.#process, beat, Date.now()])
  }

  async #look(): Promise<void> {
    const { rows } = await this.#parts.looks.pool.query<{ beat: number }>(
      bounded(answerWithin, readBeat, [this.#process]),
    )
    this.#seen = this.#sentAt(rows[0]?.beat)
    const usable = this.#seen !== undefined
    // The first beat may well be on its way.
    if (usable || this.#beat > wantedFor / beatEvery) this.#tell(usable)
  }

  #fail(error: unknown): void {
    this.#seen = undefined
    for (const giveUp of this.#waiting) giveUp()
    this.#tell(false, error as Error)
  }

  #tell(usable: boolean, reason?: Error): void {
    if (this.#told === usable || this.#closed.signal.aborted) return
    this.#told = usable
    this.#parts.onChange(usable, reason)
  }

  #query(text: string, values: unknown[]): Promise<unknown> {
    return this.#parts.primary.query(bounded(answerWithin, text, values))
  }
}
