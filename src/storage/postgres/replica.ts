import type { Pool, PoolClient } from 'pg'
import type { Replica } from '../database.ts'
import { millisecondsSince, type Moment } from '../moment.ts'
import type { Connections } from './connections.ts'
import { queryRows, type RowsStatement, type RowValue } from './driver/queries.ts'
import { Heartbeats, type HeartbeatRow } from './heartbeats.ts'
import { openPool, type OpenPool } from './pool/open-pool.ts'
import { standbyConnector } from './standby-connector.ts'

/** Connections for lists at most. One more measures the replication lag. */
const mostConnections = 7
/** Milliseconds after a heartbeat for which a session that has it is not asked again. */
const knownFor = 1_000

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
  const standby = standbyConnector(replicaUrl, pooled)
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
  readonly #heartbeats: Heartbeats
  /** When the newest heartbeat was sent that a session is known to have. */
  readonly #sessions = new WeakMap<PoolClient, Moment>()
  /** When the newest heartbeat was sent that was found on the standby. */
  #seen: Moment | undefined
  #closed = false
  #reported: boolean | undefined
  /** Called when reading the heartbeat fails: queries that wait for the standby give up. */
  readonly #waiting = new Set<() => void>()

  constructor(parts: ReplicaParts) {
    this.#parts = parts
    this.#heartbeats = new Heartbeats({
      primary: parts.primary,
      probe: parts.probe.pool,
      onSeen: (sentAt, settled) => {
        this.#seen = sentAt
        const usable = sentAt !== undefined
        if (usable || settled) this.#report(usable)
      },
      onError: (error) => this.#fail(error),
    })
  }

  usable(maxAge: number): boolean {
    this.#heartbeats.want()
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
    this.#closed = true
    await Promise.all([this.#heartbeats.close(), this.#parts.standby.close(), this.#parts.probe.close()])
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
      client.query<HeartbeatRow>(this.#heartbeats.statement),
      queryRows(client, statement),
      pooled && client.query('commit'),
    ])
    const asOf = this.#heartbeats.sentAt(heartbeat.rows[0])
    // A session never goes back in time. Through a pooler, the next statement may have another session.
    if (asOf && !pooled) this.#sessions.set(client, asOf)
    return { rows, asOf }
  }

  #fail(error: unknown): void {
    this.#seen = undefined
    for (const giveUp of this.#waiting) giveUp()
    this.#report(false, error as Error)
  }

  #report(usable: boolean, reason?: Error): void {
    if (this.#reported === usable || this.#closed) return
    this.#reported = usable
    this.#parts.onChange(usable, reason)
  }
}
