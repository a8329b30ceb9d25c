import {
  type Clock,
  millisecondsSince,
  type Moment,
  systemClock,
  thisMoment,
  type TwoClocks,
} from '../../../runtime/clock.ts'
import { StorageUnavailable, translateError } from '../../unavailable.ts'
import type { ClaimSession, OpenClaimSession } from './claim-session.ts'

/** Milliseconds between two checks for dead claimers. Each check also renews the lease of this process. */
const checkEvery = 500
/** Milliseconds before the next attempt to connect. */
const reconnectAfter = 100
/** Milliseconds from the last proof of its session for which a process begins claimed work, and in which it must reconnect. */
const leaseTime = 2_000
/** The most different errors of one loss that are reported. */
const mostReported = 10

export interface ClaimListener {
  /** Other processes may take over the claims of this process: it must stop working on them. */
  lost(): void
  /** The claims of a dead process can be claimed again. */
  freed(): void
  /** The lease is valid again, after `isLeaseValid` was false. */
  regained?(): void
}

/**
 * Ends the use of a claimer. The last one ends its session.
 * @param clean whether nothing is claimed; otherwise the row stays, so that others take over
 */
export type LeaveClaimer = (clean: boolean) => Promise<void>

interface ClaimerParts {
  open: OpenClaimSession
  clock: Clock
  /** Default: the system's. */
  elapsed?: TwoClocks['elapsed']
  onError: (error: unknown) => void
}

/**
 * Shows other processes that this one is alive, and takes over the claims of dead ones. A claimer is a row, and a session that
 * holds the advisory lock of the row's number: a killed process loses it at once, while one with a busy event loop keeps it,
 * unlike with a heartbeat. A broken session is replaced before others take over, so no two processes work on the same claim.
 */
export class Claimer {
  readonly #parts: ClaimerParts
  readonly #clocks: TwoClocks
  readonly #dead: DeadClaimers
  readonly #listeners = new Set<ClaimListener>()
  #joining: Promise<void> | undefined
  /** Whether nothing is claimed by those who left. */
  #isClean = true
  #session: ClaimSession | undefined
  /** The number of this process. It outlives a broken session. */
  #id: number | undefined
  #isReady = false
  #isChecking = false
  /** The sessions in whose time a take-over began that has not ended. */
  readonly #takingOver = new Set<ClaimSession>()
  #isClosed = false
  /** When the lock was last known to be held. */
  #provenAt = never
  /** Whether a caller waits until the lease is valid. */
  #isAwaited = false
  #cancelTimer: (() => void) | undefined
  #cancelLoss: (() => void) | undefined
  /** The errors that were reported since the session was lost. */
  readonly #reported = new Set<string>()

  constructor(parts: ClaimerParts) {
    this.#parts = parts
    this.#clocks = { now: () => parts.clock.now(), elapsed: parts.elapsed ?? (() => systemClock.elapsed()) }
    this.#dead = new DeadClaimers(this.#clocks)
  }

  /** Connects for the first listener. @throws StorageUnavailable; it may then be called again */
  async join(listener: ClaimListener): Promise<LeaveClaimer> {
    if (this.#isClosed) throw new StorageUnavailable('the session that holds the claims has ended')
    this.#joining ??= this.#connect()
    try {
      await this.#joining
    } catch (error) {
      this.#joining = undefined
      throw error
    }
    this.#listeners.add(listener)
    return async (clean) => {
      this.#isClean &&= clean
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) await this.#close()
    }
  }

  /** The number of this process. @throws StorageUnavailable while it has no session */
  get id(): number {
    if (!this.#isReady || this.#id === undefined)
      throw new StorageUnavailable('the session that holds the claims is lost')
    return this.#id
  }

  /** The same, also without a session. */
  get lastId(): number | undefined {
    return this.#id
  }

  /**
   * Whether no other process can have taken over yet, even if this process was suspended without noticing. If it is false, the
   * database is asked at once, and the listener is called when it is true again.
   */
  get isLeaseValid(): boolean {
    if (this.#isReady && millisecondsSince(this.#provenAt, this.#clocks) <= leaseTime) return true
    if (!this.#isAwaited) {
      this.#isAwaited = true
      const session = this.#session
      if (this.#isReady && !this.#isChecking && session) {
        this.#cancelTimer?.()
        void this.#check(session)
      }
    }
    return false
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    this.#cancelLoss?.()
    const session = this.#session
    if (!session) return
    if (this.#isReady && this.#isClean) await session.leave(this.#id!).catch(this.#parts.onError)
    await session.end().catch(this.#parts.onError)
  }

  #proven(at: Moment): void {
    this.#provenAt = at
    if (!this.#isAwaited || millisecondsSince(at, this.#clocks) > leaseTime) return
    this.#isAwaited = false
    for (const listener of this.#listeners) listener.regained?.()
  }

  async #connect(): Promise<void> {
    // The timer of `#broken` stands still while the machine sleeps.
    if (this.#id !== undefined && millisecondsSince(this.#provenAt, this.#clocks) > leaseTime) this.#lose()
    const session = this.#parts.open((error) => this.#broken(session, error))
    this.#session = session
    const asked = thisMoment(this.#clocks)
    try {
      const id = this.#id
      const enlisted = await session.enlist(id)
      if (!enlisted) this.#lose()
      // The number may have been lost meanwhile.
      if (!enlisted?.held || this.#id !== id) throw new Error('the lock of the claims is not available yet')
      this.#id = enlisted.id
    } catch (error) {
      this.#session = undefined
      session.end().catch(() => undefined)
      throw translateError(error)
    }
    if (this.#isClosed) return void session.end().catch(this.#parts.onError)
    this.#isReady = true
    this.#reported.clear()
    this.#cancelLoss?.()
    this.#proven(asked)
    this.#after(0, () => void this.#check(session))
  }

  /** Reconnects until the service stops. */
  #broken(session: ClaimSession, error?: unknown): void {
    if (this.#session !== session || !this.#isReady || this.#isClosed) return
    this.#session = undefined
    this.#isReady = false
    this.#isChecking = false
    if (error) this.#report(error)
    session.end().catch(() => undefined)
    this.#cancelLoss = this.#parts.clock.after(
      leaseTime - millisecondsSince(this.#provenAt, this.#clocks),
      () => this.#lose(),
    )
    this.#reconnect()
  }

  #reconnect(): void {
    this.#after(reconnectAfter, () => {
      this.#connect().catch((error: unknown) => {
        this.#report(error)
        this.#reconnect()
      })
    })
  }

  /** Reports equal errors once: ten attempts a second fail while the database is unavailable. */
  #report(error: unknown): void {
    const text = String(error)
    if (this.#reported.has(text) || this.#reported.size >= mostReported) return
    this.#reported.add(text)
    this.#parts.onError(error)
  }

  /** Others take over. This process continues as another claimer. */
  #lose(): void {
    this.#cancelLoss?.()
    if (this.#id !== undefined) this.#dead.addFormer(this.#id)
    this.#id = undefined
    for (const listener of this.#listeners) listener.lost()
  }

  async #check(session: ClaimSession): Promise<void> {
    this.#isChecking = true
    const asked = thisMoment(this.#clocks)
    try {
      const missing = new Set(await session.findMissing())
      if (this.#session !== session) return
      this.#proven(asked)
      void this.#takeOver(session, this.#dead.amongMissing(missing))
      this.#isChecking = false
      // If the answer took too long for a caller that waits, ask again at once.
      this.#after(this.#isAwaited ? 0 : checkEvery, () => void this.#check(session))
    } catch (error) {
      this.#broken(session, error)
    }
  }

  /**
   * Frees the claims of dead processes, beside the checks: one take-over at a time for each session, because one that began on a path
   * that became silent may take a minute to fail. Never rejects.
   */
  async #takeOver(session: ClaimSession, dead: readonly number[]): Promise<void> {
    if (this.#takingOver.has(session)) return
    const repeats = this.#dead.dueRepeats()
    if (dead.length + repeats.length === 0) return
    this.#takingOver.add(session)
    try {
      const freed = await session.takeOver(
        [...dead, ...repeats.flatMap(({ ids }) => ids)],
        [...this.#dead.formerAmong(dead), ...repeats.flatMap(({ former }) => former)],
      )
      this.#dead.takenOver(dead)
      this.#dead.repeated(repeats)
      if (freed > 0) for (const listener of this.#listeners) listener.freed()
    } catch (error) {
      // The next check tries again.
      this.#report(error)
    } finally {
      this.#takingOver.delete(session)
    }
  }

  #after(delay: number, then: () => void): void {
    if (this.#isClosed) return
    this.#cancelTimer = this.#parts.clock.after(delay, then)
  }
}

/** Milliseconds between two checks after which the time between them counts as unobserved. */
const longestGap = 2_000
/**
 * Milliseconds for which other processes must see no session before they take over. It exceeds the pause between two checks plus
 * the limit of a statement (2 s, `claim-session.ts`): by then a process has stopped its work, even if the server ended its
 * session without notice, if its last answer arrived within half a second.
 */
const takeOverAfter = 3_000
/**
 * Milliseconds after a take-over at which it is repeated. A statement that the dead process sent may still claim in its name: the
 * server runs it for 5 s at most, and a proxy may delay it (`receiving/worker/claims.ts` waits as long).
 */
const repeatAfter = [2_000, 7_000, 30_000] as const

/** A take-over that is to be repeated at this time of the steady clock. */
interface Repeat {
  readonly ids: readonly number[]
  /** Those of them that this process used. */
  readonly former: readonly number[]
  readonly at: number
}

/** Decides which claimers are dead, from checks for claimers without a lock. */
class DeadClaimers {
  readonly #clocks: TwoClocks
  /** By claimer: since when its lock has been missing, by the steady clock. */
  readonly #missing = new Map<number, number>()
  readonly #former = new Set<number>()
  #repeats: Repeat[] = []
  #checkedAt = never

  constructor(clocks: TwoClocks) {
    this.#clocks = clocks
  }

  /** Adds a former number of this process, which does no more work under it: its claims are taken over without delay. */
  addFormer(id: number): void {
    this.#former.add(id)
  }

  /** Those of the numbers that this process used. It has not ended with them. */
  formerAmong(ids: readonly number[]): number[] {
    return ids.filter((id) => this.#former.has(id))
  }

  /** Returns the dead ones of the claimers whose locks a check has just found missing. */
  amongMissing(ids: ReadonlySet<number>): number[] {
    const now = thisMoment(this.#clocks)
    if (millisecondsSince(this.#checkedAt, this.#clocks) > longestGap) this.#missing.clear()
    this.#checkedAt = now
    for (const id of this.#missing.keys()) if (!ids.has(id)) this.#missing.delete(id)
    for (const id of ids) if (!this.#missing.has(id)) this.#missing.set(id, now.elapsed)
    return [...ids].filter(
      (id) => this.#former.has(id) || now.elapsed - this.#missing.get(id)! >= takeOverAfter,
    )
  }

  /** Records that the claims of `dead` have been taken over, which is repeated later. */
  takenOver(dead: readonly number[]): void {
    if (dead.length === 0) return
    const now = this.#clocks.elapsed()
    const former = this.formerAmong(dead)
    for (const id of former) this.#former.delete(id)
    for (const after of repeatAfter) this.#repeats.push({ ids: dead, former, at: now + after })
  }

  /** Returns the take-overs that are to be repeated now. They stay due until `repeated`. */
  dueRepeats(): readonly Repeat[] {
    const now = this.#clocks.elapsed()
    return this.#repeats.filter(({ at }) => at <= now)
  }

  /** Records that take-overs have been repeated. */
  repeated(repeats: readonly Repeat[]): void {
    this.#repeats = this.#repeats.filter((repeat) => !repeats.includes(repeat))
  }
}

const never: Moment = { now: -Infinity, elapsed: -Infinity }
