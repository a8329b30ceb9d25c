import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import type { Clock } from '../../clock.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import { StorageUnavailable, translateError } from '../../storage/unavailable.ts'
import type { ClaimListener } from '../store.ts'

/** The first key of the advisory lock that each claimer's session holds; the second is the claimer's number. */
const lockSpace = 7_227
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
const isHeld = `exists (
  select from pg_locks where locktype = 'advisory' and classid = ${lockSpace} and objid = claimer.id and objsubid = 2
    and granted and database = (select oid from pg_database where datname = current_database())
)`
const enlist = `
  with enlisted as (insert into inbox_claimers default values returning id)
  select id, pg_try_advisory_lock(${lockSpace}, id) as held from enlisted`
/** Its row is gone when others have taken over meanwhile: then the number is not to be used again. */
const enlistAgain = `select id, pg_try_advisory_lock(${lockSpace}, id) as held from inbox_claimers where id = $1`
const findMissing = `select id from inbox_claimers claimer where not ${isHeld}`
const takeOver = `
  with dead as (delete from inbox_claimers claimer where id = any($1) and not ${isHeld} returning id)
  update inbox set claim = null, due_at = $2
  where status = 'pending' and split_part(claim, ':', 1) in (select id::text from dead)`

export interface ClaimerParts {
  /** For a connection that is kept beside the pool. */
  newClient: PostgresDatabase['newClient']
  clock: Clock
  onError: (error: unknown) => void
}

/**
 * Tells the other processes that this one lives, and takes over what dead ones had claimed. A claimer is a row and a
 * session that holds the advisory lock of the row's number: a process that is killed loses it at once, while one whose
 * loop is busy keeps it, as no heartbeat would. A session that merely broke is made anew within the time that others
 * wait, so that no two processes work on one event. Should all of this fail, leases end by themselves.
 */
export class Claimer {
  readonly #parts: ClaimerParts
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
  }

  /** @throws StorageUnavailable; then it may be called again. */
  async start(listener: ClaimListener): Promise<void> {
    if (this.#listener) return
    await this.#connect()
    this.#listener = listener
  }

  newClaim(): string {
    if (!this.#ready)
      throw new StorageUnavailable(new Error('the session that holds the claims is not there'))
    return `${this.#id}:${randomUUID()}`
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelLoss?.()
    const client = this.#client
    if (!client) return
    // A row that stays is found by the others.
    if (this.#ready)
      await client.query('delete from inbox_claimers where id = $1', [this.#id]).catch(this.#parts.onError)
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
        id === undefined ? enlist : enlistAgain,
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
      const { rows } = await client.query<{ id: number }>(findMissing)
      const now = clock.now()
      if (now - this.#lookedAt > longestGap) this.#missing.clear()
      this.#lookedAt = now
      const ids = new Set(rows.map(({ id }) => id))
      for (const id of this.#missing.keys()) if (!ids.has(id)) this.#missing.delete(id)
      for (const id of ids) if (!this.#missing.has(id)) this.#missing.set(id, now)
      const dead = [...ids].filter((id) => now - this.#missing.get(id)! >= takeOverAfter)
      if (dead.length > 0) {
        const { rowCount } = await client.query(takeOver, [dead, now])
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
