import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import type { Clock } from '../../clock.ts'
import type { PostgresDatabase } from '../database.ts'
import { StorageUnavailable, translateError } from '../unavailable.ts'

/** Milliseconds between two looks at who is alive. Each also proves our own session. */
const lookEvery = 1_000
/** Milliseconds without an answer after which a session counts as broken. */
const answerWithin = 2_000
/** Milliseconds between two looks after which nothing is known of the time between them. */
const longestGap = 4_000
const reconnectAfter = 250
/** Milliseconds without a session of its own after which a process stops working on what it has claimed … */
const loseAfter = 2_500
/** … and milliseconds without a session after which others take it over: later, on every clock. */
const takeOverAfter = 6_000

// A server notices a machine that is gone by unanswered probes, after 4 + 2 * 2 seconds.
const settings = 'set tcp_keepalives_idle = 4; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 2'

/** A list of those that claim, and what becomes of the claims of dead ones. */
export interface ClaimerList {
  /** With a serial `id`. */
  table: string
  /** The first key of the advisory lock that each claimer's session holds; the second is the claimer's number. */
  lockSpace: number
  /** A statement behind `with dead as (… returning id)`, given the time. Its row count is that of the claims. */
  takeOver: (now: number) => string
}

function statementsOf({ table, lockSpace, takeOver }: ClaimerList) {
  const isHeld = `exists (
    select from pg_locks where locktype = 'advisory' and classid = ${lockSpace} and objid = claimer.id and objsubid = 2
      and granted and database = (select oid from pg_database where datname = current_database())
  )`
  return {
    enlist: `
      with enlisted as (insert into ${table} default values returning id)
      select id, pg_try_advisory_lock(${lockSpace}, id) as held from enlisted`,
    /** Its row is gone when others have taken over meanwhile: then the number is not to be used again. */
    enlistAgain: `select id, pg_try_advisory_lock(${lockSpace}, id) as held from ${table} where id = $1`,
    findMissing: `select id from ${table} claimer where not ${isHeld}`,
    takeOver: (now: number) =>
      `with dead as (delete from ${table} claimer where id = any($1) and not ${isHeld} returning id) ${takeOver(now)}`,
    leave: `delete from ${table} where id = $1`,
  }
}

/** What a claimer is told. */
export interface ClaimListener {
  /** Others may take over what this process has claimed: it must stop working on it. */
  lost(): void
  /** What a dead process had claimed can be claimed again. */
  freed(): void
}

export interface ClaimerParts {
  list: ClaimerList
  /** For a connection that is kept beside the pool. */
  newClient: PostgresDatabase['newClient']
  clock: Clock
  onError: (error: unknown) => void
}

/**
 * Tells the other processes that this one lives, and takes over what dead ones had claimed. A claimer is a row and a
 * session that holds the advisory lock of the row's number: a process that is killed loses it at once, while one whose
 * loop is busy keeps it, as no heartbeat would. A session that merely broke is made anew within the time that others
 * wait, so that no two processes work on the same.
 */
export class Claimer {
  readonly #parts: ClaimerParts
  readonly #statements: ReturnType<typeof statementsOf>
  /** By claimer, since when its lock has been missing. */
  readonly #missing = new Map<number, number>()
  #lookedAt = 0
  #listener: ClaimListener | undefined
  #client: Client | undefined
  /** Our number; kept while the session is made anew. */
  #id: number | undefined
  #ready = false
  #closed = false
  #cancelTimer: (() => void) | undefined
  #cancelLoss: (() => void) | undefined

  constructor(parts: ClaimerParts) {
    this.#parts = parts
    this.#statements = statementsOf(parts.list)
  }

  /** @throws StorageUnavailable; then it may be called again. */
  async start(listener: ClaimListener): Promise<void> {
    if (this.#listener) return
    await this.#connect()
    this.#listener = listener
  }

  /** Our number. @throws StorageUnavailable while others could take this process for dead. */
  get id(): number {
    if (!this.#ready || this.#id === undefined)
      throw new StorageUnavailable(new Error('the session that holds the claims is not there'))
    return this.#id
  }

  /** The same, also while it is not to be relied on. */
  get known(): number | undefined {
    return this.#id
  }

  newClaim(): string {
    return `${this.id}:${randomUUID()}`
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelLoss?.()
    const client = this.#client
    if (!client) return
    // A row that stays is found by the others.
    if (this.#ready) await client.query(this.#statements.leave, [this.#id]).catch(this.#parts.onError)
    await client.end().catch(this.#parts.onError)
  }

  async #connect(): Promise<void> {
    const client = this.#parts.newClient({
      keepAlive: true,
      connectionTimeoutMillis: answerWithin,
      query_timeout: answerWithin,
      application_name: 'postern-claims',
    })
    // Without a listener an error on a connection would end the process.
    client.on('error', (error) => this.#broken(client, error))
    client.on('end', () => this.#broken(client))
    this.#client = client
    try {
      await client.connect()
      await client.query(settings)
      const id = this.#id
      const { rows } = await client.query<{ id: number; held: boolean }>(
        id === undefined ? this.#statements.enlist : this.#statements.enlistAgain,
        id === undefined ? [] : [id],
      )
      const [row] = rows
      if (!row) this.#lose()
      // Lost meanwhile: the number is nobody's any more.
      if (!row?.held || this.#id !== id) throw new Error('the lock of the claims is not to be had yet')
      this.#id = row.id
    } catch (error) {
      this.#client = undefined
      client.end().catch(() => undefined)
      throw translateError(error)
    }
    if (this.#closed) return void client.end().catch(this.#parts.onError)
    this.#ready = true
    this.#cancelLoss?.()
    this.#after(0, () => void this.#look(client))
  }

  /** What has broken is told once, and made anew until the service stops. */
  #broken(client: Client, error?: unknown): void {
    if (this.#client !== client || !this.#ready || this.#closed) return
    this.#client = undefined
    this.#ready = false
    if (error) this.#parts.onError(error)
    client.end().catch(() => undefined)
    this.#cancelLoss = this.#parts.clock.after(loseAfter, () => this.#lose())
    this.#reconnect()
  }

  #reconnect(): void {
    this.#after(reconnectAfter, () => {
      this.#connect().catch((error: unknown) => {
        this.#parts.onError(error)
        this.#reconnect()
      })
    })
  }

  /** Others will take over, or have done so: what comes next is another claimer. */
  #lose(): void {
    this.#cancelLoss?.()
    this.#id = undefined
    this.#listener?.lost()
  }

  async #look(client: Client): Promise<void> {
    const { clock } = this.#parts
    try {
      const { rows } = await client.query<{ id: number }>(this.#statements.findMissing)
      const now = clock.now()
      if (now - this.#lookedAt > longestGap) this.#missing.clear()
      this.#lookedAt = now
      const ids = new Set(rows.map(({ id }) => id))
      for (const id of this.#missing.keys()) if (!ids.has(id)) this.#missing.delete(id)
      for (const id of ids) if (!this.#missing.has(id)) this.#missing.set(id, now)
      const dead = [...ids].filter((id) => now - this.#missing.get(id)! >= takeOverAfter)
      if (dead.length > 0) {
        const { rowCount } = await client.query(this.#statements.takeOver(now), [dead])
        if (rowCount) this.#listener?.freed()
      }
      this.#after(lookEvery, () => void this.#look(client))
    } catch (error) {
      this.#broken(client, error)
    }
  }

  #after(delay: number, then: () => void): void {
    if (this.#closed) return
    this.#cancelTimer = this.#parts.clock.after(delay, then)
  }
}
