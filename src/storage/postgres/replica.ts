import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { Replica } from '../database.ts'
import { millisecondsSince, thisMoment, type Moment } from '../moment.ts'
import type { Connections } from './connections.ts'
import { queryRows, type RowsStatement, type RowValue } from './driver/queries.ts'
import { bounded } from './driver/statement.ts'
import { Connector } from './pool/connector.ts'
import { openPool, type OpenPool } from './pool/open-pool.ts'

/** Connections for lists at most. One more measures the replication lag. */
const mostConnections = 7
/** Milliseconds between two heartbeats. */
const heartbeatEvery = 500
/** Milliseconds after the last call of `usable` until heartbeats stop. */
const wantedFor = 10_000
/** Milliseconds after a heartbeat for which a session that has it is not asked again. */
const knownFor = 1_000
/** Milliseconds that writing and reading a heartbeat may take. */
const answerWithin = 2_000
/** Heartbeats that are remembered. Older ones are useless, because `maxAge` is at most five minutes. */
const mostHeartbeats = 1_000
/** Milliseconds after which the row of a process that stopped is removed. */
const rowRetention = 3_600_000

const writeHeartbeat = `insert into replica_beats (process, beat, beat_at) values ($1, $2, $3)
  on conflict (process) do update set beat = excluded.beat, beat_at = excluded.beat_at`
const removeOld = 'delete from replica_beats where beat_at < $1'
const readHeartbeat = 'select beat from replica_beats where process = $1'

/** The standby is too far behind for this query, or unreachable. */
export class ReplicaBehind extends Error {
  constructor() {
    super('the standby is too far behind, or out of reach')
    this.name = 'ReplicaBehind'
  }
}

export interface ReplicaOptions {
  replicaUrl?: string | undefined
  /** Called when the service begins, and stops, to use the standby. */
  onReplica?: ((usable: boolean, reason?: Error) => void) | undefined
}

/** Opens the pools of the standby, if one is configured. Nothing is connected yet. */
export function openReplica(
  { replicaUrl, onReplica = () => undefined }: ReplicaOptions,
  { pool, connector, onError, answerWithin }: Connections,
): PostgresReplica | undefined {
  if (replicaUrl === undefined) return undefined
  const { pooled } = connector
  const standby = new Connector(replicaUrl, { ofSeveral: 'prefer-standby', pooled })
  const settings = 'set default_transaction_read_only = on'
  const open = (max: number) => openPool(standby, { onError, answerWithin, cancelled: true, max, settings })
  return new PostgresReplica({
    primary: pool,
    standby: open(mostConnections),
    probe: open(1),
    pooled,
    onChange: onReplica,
  })
}

interface ReplicaParts {
  primary: Pool
  standby: OpenPool
  /** One more connection, so that reading the heartbeat does not wait for lists. */
  probe: OpenPool
  /** Whether a pooler may change the session of a connection between transactions. */
  pooled: boolean
  onChange: (usable: boolean, reason?: Error) => void
}

interface Rows {
  rows: RowValue[][]
  asOf: Moment
}

/**
 * A standby, and a bound of its lag. While lists are read, this process writes a growing number on the primary, twice a second,
 * and remembers when it sent each. A session of the standby that shows a number has everything that was committed before that
 * number was sent. This needs no clock of another machine and no state of the replication: a standby whose replay is paused, that
 * lost its primary, or that follows another one, shows no new number. See docs/adr/0032.
 */
class PostgresReplica implements Replica {
  readonly #parts: ReplicaParts
  readonly #process = randomUUID()
  readonly #sent = new Map<number, Moment>()
  /** When the newest heartbeat was sent that a session is known to have. */
  readonly #sessions = new WeakMap<PoolClient, Moment>()
  #heartbeat = 0
  /** When the newest heartbeat was sent that was found on the standby. */
  #seen: Moment | undefined
  #wantedAt = Number.NEGATIVE_INFINITY
  #beating: Promise<void> | undefined
  readonly #closed = new AbortController()
  #reported: boolean | undefined
  /** Called when reading the heartbeat fails: queries that wait for the standby give up. */
  readonly #waiting = new Set<() => void>()

  constructor(parts: ReplicaParts) {
    this.#parts = parts
  }

  usable(maxAge: number): boolean {
    this.#wantedAt = performance.now()
    if (!this.#closed.signal.aborted) this.#beating ??= this.#beatWhileWanted()
    return this.#seen !== undefined && millisecondsSince(this.#seen) <= maxAge
  }

  async rows(statement: RowsStatement, maxAge: number): Promise<Rows> {
    const { promise, resolve, reject } = Promise.withResolvers<Rows>()
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
    await Promise.all([this.#beating, this.#parts.standby.close(), this.#parts.probe.close()])
  }

  async #rows(statement: RowsStatement, maxAge: number): Promise<Rows> {
    const client = await this.#parts.standby.pool.connect()
    let failed = true
    try {
      const known = this.#sessions.get(client)
      const { rows, asOf } =
        known && millisecondsSince(known) <= Math.min(knownFor, maxAge / 2)
          ? { rows: await queryRows(client, statement), asOf: known }
          : await this.#rowsAfterHeartbeat(client, statement)
      failed = false
      if (!asOf || millisecondsSince(asOf) > maxAge) throw new ReplicaBehind()
      return { rows, asOf }
    } finally {
      client.release(failed)
    }
  }

  /** Reads both on one session, in this order: an address may lead to several standbys. */
  async #rowsAfterHeartbeat(
    client: PoolClient,
    statement: RowsStatement,
  ): Promise<{ rows: RowValue[][]; asOf: Moment | undefined }> {
    const { pooled } = this.#parts
    // If it fails, the next statements fail as well.
    if (pooled) client.query('begin').catch(() => undefined)
    const [heartbeat, rows] = await Promise.all([
      client.query<{ beat: number }>({ name: 'replica_beat', text: readHeartbeat, values: [this.#process] }),
      queryRows(client, statement),
      pooled && client.query('commit'),
    ])
    const asOf = this.#sentAt(heartbeat.rows[0]?.beat)
    // A session never goes back in time. Through a pooler, the next statement may have another session.
    if (asOf && !pooled) this.#sessions.set(client, asOf)
    return { rows, asOf }
  }

  #sentAt(heartbeat: number | undefined): Moment | undefined {
    return heartbeat === undefined ? undefined : this.#sent.get(heartbeat)
  }

  async #beatWhileWanted(): Promise<void> {
    await this.#query(removeOld, [Date.now() - rowRetention]).catch((error: unknown) => this.#fail(error))
    while (!this.#closed.signal.aborted && performance.now() - this.#wantedAt < wantedFor) {
      const began = performance.now()
      try {
        await this.#write()
        await this.#read()
      } catch (error) {
        this.#fail(error)
      }
      const rest = Math.max(50, heartbeatEvery - (performance.now() - began))
      await sleep(rest, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined)
    }
    this.#beating = undefined
  }

  async #write(): Promise<void> {
    this.#heartbeat += 1
    this.#sent.set(this.#heartbeat, thisMoment())
    this.#sent.delete(this.#heartbeat - mostHeartbeats)
    await this.#query(writeHeartbeat, [this.#process, this.#heartbeat, Date.now()])
  }

  async #read(): Promise<void> {
    const { rows } = await this.#parts.probe.pool.query<{ beat: number }>(
      bounded(answerWithin, readHeartbeat, [this.#process]),
    )
    this.#seen = this.#sentAt(rows[0]?.beat)
    const usable = this.#seen !== undefined
    // The first heartbeats may be on their way.
    if (usable || this.#heartbeat > wantedFor / heartbeatEvery) this.#report(usable)
  }

  #fail(error: unknown): void {
    this.#seen = undefined
    for (const giveUp of this.#waiting) giveUp()
    this.#report(false, error as Error)
  }

  #report(usable: boolean, reason?: Error): void {
    if (this.#reported === usable || this.#closed.signal.aborted) return
    this.#reported = usable
    this.#parts.onChange(usable, reason)
  }

  #query(text: string, values: unknown[]): Promise<unknown> {
    return this.#parts.primary.query(bounded(answerWithin, text, values))
  }
}
