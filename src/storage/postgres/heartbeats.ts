import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { thisMoment, type Moment } from '../moment.ts'
import { bounded } from './driver/statement.ts'

/** Milliseconds between two heartbeats. */
const interval = 500
/** Milliseconds after the last call of `want` until heartbeats stop. */
const wantedFor = 10_000
/** Milliseconds that writing and reading a heartbeat may take. */
const answerWithin = 2_000
/** Heartbeats that are remembered. Older ones are useless, because `maxAge` is at most five minutes. */
const mostRemembered = 1_000
/** Milliseconds after which the row of a process that stopped is removed. */
const rowRetention = 3_600_000

const write = `insert into replica_beats (process, beat, beat_at) values ($1, $2, $3)
  on conflict (process) do update set beat = excluded.beat, beat_at = excluded.beat_at`
const removeOld = 'delete from replica_beats where beat_at < $1'
const read = 'select beat from replica_beats where process = $1'

export interface HeartbeatRow {
  beat: number
}

export interface HeartbeatsParts {
  primary: Pool
  /** A connection to the standby, so that reading the heartbeat does not wait for lists. */
  probe: Pool
  /** Called after each reading: when the newest heartbeat was sent that the standby shows, and how sure that is. */
  onSeen: (sentAt: Moment | undefined, settled: boolean) => void
  onError: (error: unknown) => void
}

/** A growing number that this process writes on the primary while it is wanted, and reads on the standby. */
export class Heartbeats {
  readonly #parts: HeartbeatsParts
  readonly #process = randomUUID()
  readonly #sent = new Map<number, Moment>()
  #latest = 0
  #wantedAt = Number.NEGATIVE_INFINITY
  #beating: Promise<void> | undefined
  readonly #closed = new AbortController()

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts
  }

  /** The statement that reads the heartbeat on any session. */
  get statement(): { name: string; text: string; values: string[] } {
    return { name: 'replica_beat', text: read, values: [this.#process] }
  }

  /** Starts the heartbeats, or keeps them going. */
  want(): void {
    this.#wantedAt = performance.now()
    if (!this.#closed.signal.aborted) this.#beating ??= this.#beatWhileWanted()
  }

  /** When the heartbeat was sent that a session showed. */
  sentAt(row: HeartbeatRow | undefined): Moment | undefined {
    return row && this.#sent.get(row.beat)
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#beating
  }

  async #beatWhileWanted(): Promise<void> {
    const { onError } = this.#parts
    await this.#query(removeOld, [Date.now() - rowRetention]).catch(onError)
    while (!this.#closed.signal.aborted && performance.now() - this.#wantedAt < wantedFor) {
      const began = performance.now()
      try {
        await this.#write()
        await this.#read()
      } catch (error) {
        onError(error)
      }
      const rest = Math.max(50, interval - (performance.now() - began))
      await sleep(rest, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined)
    }
    this.#beating = undefined
  }

  async #write(): Promise<void> {
    this.#latest += 1
    this.#sent.set(this.#latest, thisMoment())
    this.#sent.delete(this.#latest - mostRemembered)
    await this.#query(write, [this.#process, this.#latest, Date.now()])
  }

  async #read(): Promise<void> {
    const { probe, onSeen } = this.#parts
    const { rows } = await probe.query<HeartbeatRow>(bounded(answerWithin, read, [this.#process]))
    // The first heartbeats may be on their way.
    onSeen(this.sentAt(rows[0]), this.#latest > wantedFor / interval)
  }

  #query(text: string, values: unknown[]): Promise<unknown> {
    return this.#parts.primary.query(bounded(answerWithin, text, values))
  }
}
