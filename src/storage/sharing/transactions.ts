import type { CompiledQuery } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type { Part, PartOptions, Seal, Sharing } from '../database.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import { TransactionOver } from '../transaction-over.ts'
import { Batch, type BatchHost } from './batch.ts'
import { failureOf, type OpenCarrier } from './carrier.ts'
import { newGroup, type Group, type Kept } from './group.ts'
import type { Member } from './member.ts'
import { SharedPart, type Host } from './part.ts'
import { SingleStatements } from './single-statements.ts'

/** Parts of one commit. PostgreSQL gets slow beyond 64 savepoints; on SQLite the time for one transaction is the bound. */
const mostParts: Readonly<Record<Engine, number>> = { sqlite: 240, postgres: 60 }
/** Milliseconds that a shared transaction takes new parts for. */
const longestGroup = 20
/** Milliseconds of work without a look at what the loop has to read. */
const longestBurst = 2
/** Statements that are sent together: the first of these parts is kept when the last of them is. */
const mostTogether = 32
/** Milliseconds that a part waits for its turn before another transaction is opened. */
const patience = 2

export interface SharingParts<Note> {
  engine: Engine
  open: OpenCarrier
  seal: Seal<Note>
  /** Shared transactions that may be open at once. */
  most: number
  /** Whether what an engine is sent waits for its answer, so that statements of several parts had better go together. */
  batches: boolean
  scheduler: Scheduler
}

interface Waiting<Note> {
  readonly part: SharedPart<Note>
  /** Of a part that waits for a batch. */
  readonly member: Member<Note> | undefined
  readonly enter: (group: Group<Note>) => void
  readonly fail: (error: unknown) => void
}

/** @see Sharing */
export class SharedTransactions<Note> implements Sharing<Note>, Host<Note>, BatchHost<Note> {
  readonly #parts: SharingParts<Note>
  readonly #groups = new Set<Group<Note>>()
  #opening = 0
  readonly #queue: Waiting<Note>[] = []
  readonly #singles = new SingleStatements()
  #impatience: (() => void) | undefined

  constructor(parts: SharingParts<Note>) {
    this.#parts = parts
  }

  get engine(): Engine {
    return this.#parts.engine
  }

  get scheduler(): Scheduler {
    return this.#parts.scheduler
  }

  begin(options: PartOptions): Part<Note> {
    return new SharedPart(this, options)
  }

  async enter(part: SharedPart<Note>): Promise<Group<Note>> {
    const { alone, share } = part.options
    if (alone) {
      const group = newGroup<Note>(await this.#parts.open(share, part.given), true, this.scheduler.elapsed())
      group.carrier.enter()
      return group
    }
    return new Promise((enter, fail) => this.#wait({ part, member: undefined, enter, fail }))
  }

  mayBatch({ options }: SharedPart<Note>, query: CompiledQuery | undefined): boolean {
    return this.#parts.batches && !options.alone && (!query || this.#singles.expected(options.share, query))
  }

  join(part: SharedPart<Note>, member: Member<Note>): void {
    const fail = (error: unknown): void =>
      member.kept ? member.kept.reject(error) : member.fail(failureOf(false, error))
    this.#wait({ part, member, enter: () => {}, fail })
  }

  learn({ options }: SharedPart<Note>, single: boolean): void {
    if (this.#parts.batches) this.#singles.learn(options.share, single)
  }

  #wait(waiting: Waiting<Note>): void {
    this.#queue.push(waiting)
    const open = this.#groups.size + this.#opening
    const enough =
      waiting.member !== undefined && this.#queue.length >= mostTogether && open < this.#parts.most
    if (open === 0 || enough) void this.#open()
    else if (!this.#impatience) this.#waitPatiently()
  }

  leave(part: SharedPart<Note>): void {
    const place = this.#queue.findIndex((waiting) => waiting.part === part)
    if (place >= 0) this.#queue.splice(place, 1)[0]!.fail(new TransactionOver('rolled back'))
  }

  batchOver(group: Group<Note>): void {
    group.batch = undefined
    this.turnOver(group)
  }

  turnOver(group: Group<Note>, kept?: Kept<Note>): void {
    if (group.batch) return group.batch.endTurn(kept)
    if (kept) group.kept.push(kept)
    if (group.alone) return void this.#close(group)
    const now = this.scheduler.elapsed()
    const takesMore =
      group.parts < mostParts[this.engine] && now - group.since < longestGroup && !group.carrier.wanted()
    if (!takesMore) return void this.#close(group)
    if (now - group.burst < longestBurst) return this.#next(group)
    this.scheduler.soon(() => {
      group.burst = this.scheduler.elapsed()
      this.#next(group)
    })
  }

  fail(group: Group<Note>, error: unknown): void {
    this.#groups.delete(group)
    group.batch?.failed(error)
    for (const { reject } of group.kept.splice(0)) reject(failureOf(group.alone, error))
    void group.carrier.drop(true).then(() => this.#goOn())
  }

  /** Gives the turn to the next part. When there is none, one turn of the loop may bring some. */
  #next(group: Group<Note>, gathered = false): void {
    const waiting = this.#queue.shift()
    if (!waiting) {
      if (gathered) return void this.#close(group)
      this.scheduler.soon(() => this.#next(group, true))
      return
    }
    try {
      group.carrier.enter()
    } catch (error) {
      this.#queue.unshift(waiting)
      return this.fail(group, error)
    }
    group.parts += 1
    if (waiting.member) this.#beginBatch(group, waiting.member)
    else waiting.enter(group)
  }

  #beginBatch(group: Group<Note>, first: Member<Note>): void {
    const members = [first]
    const { length } = this.#queue
    for (let index = 0; index < length; index += 1) {
      const waiting = this.#queue.shift()!
      const { member } = waiting
      if (!member || member.separate || first.separate || members.length >= mostTogether)
        this.#queue.push(waiting)
      else members.push(member)
    }
    group.batch = new Batch(this, group, members)
    group.batch.start()
  }

  async #close(group: Group<Note>): Promise<void> {
    this.#groups.delete(group)
    const { carrier, kept } = group
    try {
      if (kept.length === 0) await carrier.drop()
      else {
        const tx = transactionOver(this.#parts.engine, async (query) => carrier.run(query, true))
        const notes = kept.map(({ note }) => note)
        await carrier.commit(await this.#parts.seal(tx, notes))
      }
      for (const { resolve } of kept) resolve()
    } catch (error) {
      await carrier.drop()
      for (const { reject } of kept) reject(failureOf(group.alone, error))
    }
    this.#goOn()
  }

  async #open(): Promise<void> {
    this.#opening += 1
    let group: Group<Note> | undefined
    try {
      group = newGroup(await this.#parts.open(undefined, neverAborted), false, this.scheduler.elapsed())
    } catch (error) {
      for (const { fail } of this.#queue.splice(0)) fail(error)
    }
    this.#opening -= 1
    if (!group) return
    this.#groups.add(group)
    this.#next(group)
  }

  /** What waits while nobody is there to take it. */
  #goOn(): void {
    if (this.#queue.length > 0 && this.#groups.size + this.#opening === 0) void this.#open()
  }

  /** Whoever has the turn takes long: those behind get another transaction. */
  #impatient(): void {
    this.#impatience = undefined
    if (this.#queue.length === 0) return
    if (this.#groups.size + this.#opening < this.#parts.most) void this.#open()
    this.#waitPatiently()
  }

  #waitPatiently(): void {
    this.#impatience = this.scheduler.after(patience, () => this.#impatient())
  }
}

const neverAborted = new AbortController().signal
