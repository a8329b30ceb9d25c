import type { Scheduler } from '../../runtime/clock.ts'
import { TransactionOver } from '../transaction-over.ts'
import { failureOf } from './carrier.ts'
import type { Group, Kept } from './group.ts'
import type { Member } from './member.ts'

/** Milliseconds that one statement may take when it is run again: no handler's time bounds it any more. */
const longestReplay = 250

/** Whose transaction it is. */
export interface BatchHost<Note> {
  readonly scheduler: Scheduler
  /** All have ended; `group.kept` has those that are to be committed. */
  batchOver(group: Group<Note>): void
  /** The transaction cannot go on. */
  fail(group: Group<Note>, error: unknown): void
}

/**
 * Parts of one statement each, whose statements are sent together, under one savepoint. As soon as one of them is more
 * than that, or fails, all that the batch did is undone, and every part is run again with a savepoint of its own, one
 * after the other, from the statement that is known of it. Who was told that a statement had changed so many rows, and
 * went on from there, does not notice: if it changes another number the second time, the whole transaction fails.
 */
export class Batch<Note> {
  readonly #host: BatchHost<Note>
  readonly #group: Group<Note>
  readonly #members: readonly Member<Note>[]
  /** Whether the answers are waited for. */
  #answering = false
  #unended: number
  #brokenUp = false
  #failed = false
  #allAnswered: (() => void) | undefined
  #turnOver: (() => void) | undefined

  constructor(host: BatchHost<Note>, group: Group<Note>, members: readonly Member<Note>[]) {
    this.#host = host
    this.#group = group
    this.#members = members
    this.#unended = members.length
  }

  /** The savepoint is set. */
  start(): void {
    for (const member of this.#members) member.begin(this)
    if (this.#members.some(({ separate }) => separate)) return this.breakUp()
    for (const { kept } of this.#members) if (kept) this.#unended -= 1
    this.#send(this.#members.filter(({ query }) => query))
    this.#endWhenAllHave()
  }

  /** A part wants to be committed. */
  ended(): void {
    this.#unended -= 1
    this.#endWhenAllHave()
  }

  /** Takes what a part was kept with that had a turn of its own. */
  endTurn(kept: Kept<Note> | undefined): void {
    if (kept) this.#keep(kept)
    this.#turnOver?.()
  }

  breakUp(): void {
    if (this.#brokenUp) return
    this.#brokenUp = true
    this.#runSingly().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    if (!this.#failed) this.#host.fail(this.#group, error)
  }

  /** The transaction cannot go on: all are told, and `group.kept` has those that wait for its commit. */
  failed(error: unknown): void {
    this.#failed = true
    this.#brokenUp = true
    for (const member of this.#members) {
      if (member.kept) this.#keep(member.kept)
      else if (!member.gone) member.fail(failureOf(false, error))
    }
  }

  #send(members: readonly Member<Note>[]): void {
    if (members.length === 0) return
    this.#answering = true
    const answered = (): void => {
      this.#answering = false
      this.#allAnswered?.()
    }
    this.#group.carrier.runTogether!(members.map(({ query }) => query!)).then(
      (results) => {
        if (!this.#brokenUp) for (const [index, member] of members.entries()) member.tell(results[index]!)
        answered()
      },
      () => {
        // Which one it was, and why, is found out when they run singly.
        this.breakUp()
        answered()
      },
    )
  }

  #endWhenAllHave(): void {
    if (this.#unended > 0 || this.#brokenUp) return
    try {
      this.#group.carrier.keep(true)
    } catch (error) {
      return this.fail(error)
    }
    for (const { kept } of this.#members) this.#keep(kept!)
    this.#host.batchOver(this.#group)
  }

  #keep(kept: Kept<Note>): void {
    this.#group.kept.push(kept)
  }

  async #runSingly(): Promise<void> {
    if (this.#answering) await new Promise<void>((resolve) => (this.#allAnswered = resolve))
    if (this.#failed) return
    this.#group.carrier.undo()
    for (const member of this.#members) {
      if (!member.gone) await this.#runAlone(member)
      if (this.#failed) return
    }
    this.#host.batchOver(this.#group)
  }

  async #runAlone(member: Member<Note>): Promise<void> {
    const { carrier } = this.#group
    carrier.enter()
    this.#group.parts += 1
    if (member.query) await this.#runAgain(member)
    if (this.#failed) return
    if (member.gone) return carrier.undo()
    if (!member.kept) return this.#giveTurn(member)
    carrier.keep(true)
    this.#keep(member.kept)
  }

  async #runAgain(member: Member<Note>): Promise<void> {
    const cancel = this.#host.scheduler.after(longestReplay, () =>
      this.fail(new TransactionOver('out of time')),
    )
    try {
      const result = await this.#group.carrier.run(member.query!)
      if (this.#failed || member.gone) return
      if (!member.told) return member.tell(result)
      if (member.told.numAffectedRows !== result.numAffectedRows)
        throw new Error('a statement changed another number of rows when it was run again')
    } catch (error) {
      if (member.told) throw error
      member.refuse(error)
    } finally {
      cancel()
    }
  }

  async #giveTurn(member: Member<Note>): Promise<void> {
    const over = new Promise<void>((resolve) => (this.#turnOver = resolve))
    member.takeTurn(this.#group)
    await over
    this.#turnOver = undefined
  }
}
