import { never, type TwoClocks } from './two-clocks.ts'

/** Milliseconds between two checks after which the time between them counts as unobserved. */
const longestGap = 2_000
/**
 * Milliseconds for which other processes must see no session before they take over. It exceeds the pause between two checks plus
 * the limit of a statement (4 s, `claim-session.ts`): by then a process has stopped its work, even if the server ended its
 * session without notice, if its last answer arrived within half a second.
 */
const takeOverAfter = 5_000
/**
 * Milliseconds after a take-over at which it is repeated. A statement that the dead process sent may still claim in its name: the
 * server runs it for 5 s at most, and a proxy may delay it (`unsettled.ts` waits as long).
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
export class DeadClaimers {
  readonly #time: TwoClocks
  /** By claimer: since when its lock has been missing, by the steady clock. */
  readonly #missing = new Map<number, number>()
  readonly #former = new Set<number>()
  #repeats: Repeat[] = []
  #checkedAt = never

  constructor(time: TwoClocks) {
    this.#time = time
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
    const now = this.#time.instant()
    if (this.#time.since(this.#checkedAt) > longestGap) this.#missing.clear()
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
    const now = this.#time.elapsed()
    const former = this.formerAmong(dead)
    for (const id of former) this.#former.delete(id)
    for (const after of repeatAfter) this.#repeats.push({ ids: dead, former, at: now + after })
  }

  /** Returns the take-overs that are to be repeated now. They stay due until `repeated`. */
  dueRepeats(): readonly Repeat[] {
    const now = this.#time.elapsed()
    return this.#repeats.filter(({ at }) => at <= now)
  }

  /** Records that take-overs have been repeated. */
  repeated(repeats: readonly Repeat[]): void {
    this.#repeats = this.#repeats.filter((repeat) => !repeats.includes(repeat))
  }
}
