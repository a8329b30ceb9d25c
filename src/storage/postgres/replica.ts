import type { Pool } from 'pg'
import { millisecondsSince, thisMoment, type Moment } from '../../runtime/clock.ts'
import type { Connections } from './connections.ts'
import { beginFor, needsTransaction, rowsOf, type RowsStatement, type RowValue } from './driver/queries.ts'
import { bounded } from './driver/statement.ts'
import { Connector, type SessionPool } from './pool/connector.ts'

/** Connections for lists at most. One more measures the replication lag. */
const mostConnections = 7
/** Milliseconds between two measurements. */
const interval = 500
/** Milliseconds after the last call of `usable` until measuring stops. */
const wantedFor = 10_000
/** Milliseconds that each server may take for a measurement. */
const answerWithin = 2_000
/** Positions of the primary that are remembered. Older ones are useless, because `maxAge` is at most five minutes. */
const mostRemembered = 1_000

/** A position in the write-ahead log. Positions compare only within one `life` of the database (docs/adr/0029). */
interface Position {
  life: string
  wal: number
}

const primaryPosition = `select life, (pg_current_wal_insert_lsn() - '0/0')::float8 as wal from continuity`
/** Before the first replay, and on a server that is neither a standby nor the primary, -1: its log is another one. */
const standbyPosition = {
  name: 'standby_position',
  text: `select life, coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
    when server = postern_server() then pg_current_wal_insert_lsn() end - '0/0', -1)::float8 as wal from continuity`,
}

/** Called when the service begins, and stops, to use the standby. */
export type OnReplica = (usable: boolean, reason?: Error) => void

interface Rows {
  rows: RowValue[][]
  asOf: Moment
}

/**
 * A standby, for reads whose data may be old by a bounded time. While lists are read, this process remembers the primary's position
 * in the log twice a second. A session of the standby that has replayed a position has everything that was committed before this
 * process asked for it. This needs no clock of another machine: the position of a standby whose replay is paused, or that lost its
 * primary, does not grow, and one that follows another primary has another life. See docs/adr/0032.
 */
export class Replica {
  readonly #primary: Pool
  readonly #standby: SessionPool
  /** One more connection, so that measuring does not wait for lists. */
  readonly #probe: SessionPool
  /** Whether a pooler may change the session of a connection between transactions. */
  readonly #pooled: boolean
  readonly #onChange: OnReplica
  /** Positions of the primary, the oldest first, each with the time before it was asked for. */
  readonly #positions: (Position & { askedAt: Moment })[] = []
  /** The time up to which the standby had all commits when it was last measured. */
  #asOf: Moment | undefined
  #wantedAt = 0
  #measuring = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #reported: boolean | undefined
  /** Called when measuring fails: queries that wait for the standby give up. */
  readonly #waiting = new Set<() => void>()

  /** Opens the pools of the standby. Nothing is connected yet. @throws Error if a file that the address names cannot be read */
  constructor(
    url: string,
    { pool, connector, onError, answerWithin }: Connections,
    onChange: OnReplica = () => undefined,
  ) {
    this.#pooled = connector.pooled
    const standby = standbyConnector(url, this.#pooled)
    const settings = 'set default_transaction_read_only = on'
    const open = (max: number) => standby.openPool({ onError, answerWithin, max, settings })
    this.#primary = pool
    this.#standby = open(mostConnections)
    this.#probe = open(1)
    this.#onChange = onChange
  }

  /**
   * Whether a read on the standby is likely to succeed. To be called before each read, because these calls keep measuring the
   * lag. The first call after a pause returns false.
   * @param maxAge milliseconds
   */
  usable(maxAge: number): boolean {
    this.#wantedAt = performance.now()
    if (!this.#measuring && !this.#closed) void this.#measure()
    return this.#asOf !== undefined && millisecondsSince(this.#asOf) <= maxAge
  }

  /**
   * Runs a statement of a list on the standby. The rows include everything that was committed before `asOf`.
   * @throws Error if they would be older than `maxAge` milliseconds, or the standby is unreachable; the error of the statement
   */
  async rows(statement: RowsStatement, maxAge: number): Promise<Rows> {
    const { promise, resolve, reject } = Promise.withResolvers<Rows>()
    const giveUp = (): void => reject(new Error('the standby is unreachable'))
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
    clearTimeout(this.#timer)
    await Promise.all([this.#standby.close(), this.#probe.close()])
  }

  /** Reads both on one session, in this order: an address may lead to several standbys. */
  async #rows(statement: RowsStatement, maxAge: number): Promise<Rows> {
    const client = await this.#standby.connect()
    const inTransaction = this.#pooled || needsTransaction(statement)
    let failed = true
    try {
      const [, position, rows] = await Promise.all([
        inTransaction && beginFor(client, statement),
        client.query<Position>(standbyPosition),
        rowsOf(client, statement),
        inTransaction && client.query('commit'),
      ])
      failed = false
      const asOf = this.#asOfPosition(position.rows[0])
      if (!asOf || millisecondsSince(asOf) > maxAge) throw new Error('the standby is too far behind')
      return { rows, asOf }
    } finally {
      client.release(failed)
    }
  }

  /** When this process asked for the newest position of the primary that includes nothing beyond `reached`. */
  #asOfPosition(reached: Position | undefined): Moment | undefined {
    return this.#positions.findLast(({ life, wal }) => life === reached?.life && wal <= reached.wal)?.askedAt
  }

  async #measure(): Promise<void> {
    this.#measuring = true
    try {
      const askedAt = thisMoment()
      const { rows } = await this.#primary.query<Position>(bounded(answerWithin, primaryPosition))
      this.#positions.push({ ...rows[0]!, askedAt })
      if (this.#positions.length > mostRemembered) this.#positions.shift()
      const reached = await this.#probe.query<Position>(bounded(answerWithin, standbyPosition.text))
      this.#asOf = this.#asOfPosition(reached.rows[0])
      // The standby may not have replayed the first positions yet.
      if (this.#asOf || this.#positions.length > 20) this.#report(this.#asOf !== undefined)
    } catch (error) {
      this.#asOf = undefined
      for (const giveUp of this.#waiting) giveUp()
      this.#report(false, error as Error)
    }
    this.#timer = setTimeout(() => {
      this.#measuring = false
      if (performance.now() - this.#wantedAt < wantedFor && !this.#closed) void this.#measure()
    }, interval).unref()
  }

  #report(usable: boolean, reason?: Error): void {
    if (this.#reported === usable || this.#closed) return
    this.#reported = usable
    this.#onChange(usable, reason)
  }
}

/**
 * Makes the connections to the address of a standby: of several servers, to a standby if there is one.
 * @param pooled whether the address may lead to a pooler that changes sessions: see `Connector`
 */
function standbyConnector(replicaUrl: string, pooled: boolean): Connector {
  return new Connector(replicaUrl, { ofSeveral: 'prefer-standby', pooled })
}

/** Runs one statement there, on a connection of its own, within ten seconds. */
export async function askStandby<Row extends object>(
  replicaUrl: string,
  { pooled }: { pooled: boolean },
  statement: string,
): Promise<Row[]> {
  const settings = { answerWithin: 10_000, brief: true }
  return standbyConnector(replicaUrl, pooled).withClient(
    settings,
    async (client) => (await client.query<Row>(statement)).rows,
  )
}
