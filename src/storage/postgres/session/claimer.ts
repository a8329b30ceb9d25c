import { systemClock, type Clock, type Scheduler } from '../../../runtime/clock.ts'
import { StorageUnavailable, translateError } from '../../unavailable.ts'
import type { ClaimSession, OpenClaimSession } from './claim-session.ts'

/** Milliseconds between two looks at who is alive. Each also proves our own session. */
const lookEvery = 500
/** Milliseconds between two looks after which nothing is known of the time between them. */
const longestGap = 2_000
const reconnectAfter = 100
/**
 * Milliseconds from the last proof of its session for which a process begins to work on what it has claimed, and in which
 * a session that broke has to be made anew …
 */
const sureFor = 2_000
/**
 * … and milliseconds for which others see no session until they take over. What they see begins behind that proof. It is more
 * than `lookEvery` and the time that an answer may take (4 s, `claim-session.ts`): a process whose session ended at the server
 * without notice has stopped its work by then.
 */
const takeOverAfter = 5_000
/**
 * Milliseconds after a take-over at which it is repeated. A statement that the dead process had sent may still claim in its name:
 * the server runs it for 5 s at most, and a proxy may delay it (`unsettled.ts` waits as long).
 */
const repeatAfter = [2_000, 7_000, 30_000] as const

/** By both clocks: one may be set, the other may stand still while the machine sleeps. */
interface Moment {
  now: number
  elapsed: number
}

const never: Moment = { now: -Infinity, elapsed: -Infinity }

/** What a claimer is told. */
export interface ClaimListener {
  /** Others may take over what this process has claimed: it must stop working on it. */
  lost(): void
  /** What a dead process had claimed can be claimed again. */
  freed(): void
  /** `sure` was asked and was false, and is true now. */
  regained?(): void
}

export interface ClaimerParts {
  open: OpenClaimSession
  clock: Clock
  /** Default: the system's. */
  elapsed?: Scheduler['elapsed']
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
  readonly #elapsed: Scheduler['elapsed']
  /** By claimer, since when its lock has been missing, as `elapsed` has it. */
  readonly #missing = new Map<number, number>()
  /** Numbers that were ours. Nothing is done under them any more: what they had claimed waits for nobody. */
  readonly #former = new Set<number>()
  /** Take-overs that are to be repeated, and when, as `elapsed` has it. */
  #repeats: { ids: readonly number[]; at: number }[] = []
  #lookedAt = never
  #listener: ClaimListener | undefined
  #session: ClaimSession | undefined
  /** Our number; kept while the session is made anew. */
  #id: number | undefined
  #ready = false
  #looking = false
  #closed = false
  /** When our lock was last known to be held. */
  #provenAt = never
  /** Whether somebody waits for `sure`. */
  #asked = false
  #cancelTimer: (() => void) | undefined
  #cancelLoss: (() => void) | undefined
  /** The last error that was told since the session was lost. */
  #told: string | undefined

  constructor(parts: ClaimerParts) {
    this.#parts = parts
    this.#elapsed = parts.elapsed ?? (() => systemClock.elapsed())
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

  /**
   * Whether nobody can have taken over at this moment, whatever befell this process: one that was suspended does not know
   * of it, nor for how long. Where it is not sure, the database is asked at once, and the listener is told.
   */
  get sure(): boolean {
    if (this.#ready && this.#since(this.#provenAt) <= sureFor) return true
    if (!this.#asked) {
      this.#asked = true
      const session = this.#session
      if (this.#ready && !this.#looking && session) {
        this.#cancelTimer?.()
        void this.#look(session)
      }
    }
    return false
  }

  /** @param clean whether nothing is claimed any more; else the others find our number without a session, and take over */
  async close(clean = true): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelLoss?.()
    const session = this.#session
    if (!session) return
    // A row that stays is found by the others.
    if (this.#ready && clean) await session.leave(this.#id!).catch(this.#parts.onError)
    await session.end().catch(this.#parts.onError)
  }

  #moment(): Moment {
    return { now: this.#parts.clock.now(), elapsed: this.#elapsed() }
  }

  /** Milliseconds, rather too many than too few. */
  #since({ now, elapsed }: Moment): number {
    return Math.max(this.#parts.clock.now() - now, this.#elapsed() - elapsed)
  }

  #proven(moment: Moment): void {
    this.#provenAt = moment
    if (!this.#asked || this.#since(moment) > sureFor) return
    this.#asked = false
    this.#listener?.regained?.()
  }

  async #connect(): Promise<void> {
    const session = this.#parts.open((error) => this.#broken(session, error))
    this.#session = session
    const asked = this.#moment()
    try {
      const id = this.#id
      const enlisted = await session.enlist(id)
      if (!enlisted) this.#lose()
      // Lost meanwhile: the number is nobody's any more.
      if (!enlisted?.held || this.#id !== id) {
        // The session may live on for others: with the lock, nobody could take over what the number has.
        if (enlisted?.held) await session.unlock(enlisted.id)
        throw new Error('the lock of the claims is not to be had yet')
      }
      this.#id = enlisted.id
    } catch (error) {
      this.#session = undefined
      session.end().catch(() => undefined)
      throw translateError(error)
    }
    if (this.#closed) return void session.end().catch(this.#parts.onError)
    this.#ready = true
    this.#told = undefined
    this.#cancelLoss?.()
    this.#proven(asked)
    this.#after(0, () => void this.#look(session))
  }

  /** What has broken is told once, and made anew until the service stops. */
  #broken(session: ClaimSession, error?: unknown): void {
    if (this.#session !== session || !this.#ready || this.#closed) return
    this.#session = undefined
    this.#ready = false
    this.#looking = false
    if (error) this.#tell(error)
    session.end().catch(() => undefined)
    this.#cancelLoss = this.#parts.clock.after(sureFor - this.#since(this.#provenAt), () => this.#lose())
    this.#reconnect()
  }

  #reconnect(): void {
    this.#after(reconnectAfter, () => {
      this.#connect().catch((error: unknown) => {
        this.#tell(error)
        this.#reconnect()
      })
    })
  }

  /** Ten attempts a second fail in the same way while the database is away: the log has that once. */
  #tell(error: unknown): void {
    const text = String(error)
    if (text === this.#told) return
    this.#told = text
    this.#parts.onError(error)
  }

  /** Others will take over, or have done so: what comes next is another claimer. */
  #lose(): void {
    this.#cancelLoss?.()
    if (this.#id !== undefined) this.#former.add(this.#id)
    this.#id = undefined
    this.#listener?.lost()
  }

  async #look(session: ClaimSession): Promise<void> {
    this.#looking = true
    const asked = this.#moment()
    try {
      const ids = new Set(await session.findMissing())
      if (this.#session !== session) return
      this.#proven(asked)
      const dead = this.#deadOf(ids)
      const taken = [...dead, ...this.#toRepeat()]
      if (taken.length > 0 && (await session.takeOver(taken))) this.#listener?.freed()
      if (this.#session !== session) return
      this.#takenOver(dead)
      this.#looking = false
      // Whoever waits cannot use an answer that took too long, or was given before a sleep.
      this.#after(this.#asked ? 0 : lookEvery, () => void this.#look(session))
    } catch (error) {
      this.#broken(session, error)
    }
  }

  #deadOf(ids: ReadonlySet<number>): number[] {
    const moment = this.#moment()
    if (this.#since(this.#lookedAt) > longestGap) this.#missing.clear()
    this.#lookedAt = moment
    for (const id of this.#missing.keys()) if (!ids.has(id)) this.#missing.delete(id)
    for (const id of ids) if (!this.#missing.has(id)) this.#missing.set(id, moment.elapsed)
    return [...ids].filter(
      (id) => this.#former.has(id) || moment.elapsed - this.#missing.get(id)! >= takeOverAfter,
    )
  }

  #takenOver(dead: readonly number[]): void {
    if (dead.length === 0) return
    const now = this.#elapsed()
    for (const id of dead) this.#former.delete(id)
    for (const after of repeatAfter) this.#repeats.push({ ids: dead, at: now + after })
  }

  #toRepeat(): readonly number[] {
    const now = this.#elapsed()
    const due = this.#repeats.filter(({ at }) => at <= now)
    if (due.length > 0) this.#repeats = this.#repeats.filter(({ at }) => at > now)
    return due.flatMap(({ ids }) => ids)
  }

  #after(delay: number, then: () => void): void {
    if (this.#closed) return
    this.#cancelTimer = this.#parts.clock.after(delay, then)
  }
}
