import type { CompiledQuery, QueryResult } from 'kysely'
import type { Scheduler } from '../../runtime/clock.ts'
import type { Part, PartOptions, Tx } from '../database.ts'
import { insideTransaction } from '../inside-transaction.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import { refuseTransactionControl } from '../transaction-control.ts'
import { TransactionOver } from '../transaction-over.ts'
import type { Group, Kept } from './group.ts'
import { Member, type MemberEvents } from './member.ts'

/** Who hands out the turns. */
export interface Host<Note> {
  readonly engine: Engine
  readonly scheduler: Scheduler
  /** Resolves with the part's turn. */
  enter(part: SharedPart<Note>): Promise<Group<Note>>
  /** Whether the part may be expected to consist of this statement, or of none. */
  mayBatch(part: SharedPart<Note>, query: CompiledQuery | undefined): boolean
  /** Has the part wait for a batch. */
  join(part: SharedPart<Note>, member: Member<Note>): void
  /** The part does not want its turn any more. */
  leave(part: SharedPart<Note>): void
  /** A part has ended: whether it was what a batch is made of. */
  learn(part: SharedPart<Note>, single: boolean): void
  /** The part that had the turn has ended. */
  turnOver(group: Group<Note>, kept?: Kept<Note>): void
  /** The transaction cannot go on. */
  fail(group: Group<Note>, error: unknown): void
}

/** @see Part */
export class SharedPart<Note> implements Part<Note>, MemberEvents<Note> {
  readonly tx: Tx
  readonly options: PartOptions
  readonly #host: Host<Note>
  /** Shared with whoever runs within it: tells that a wait for the write lock would be a wait for itself. */
  readonly #mark = { held: false }
  #given: AbortController | undefined
  #entering: Promise<void> | undefined
  #member: Member<Note> | undefined
  #failure: Error | undefined
  #statements = 0
  #group: Group<Note> | undefined
  #cancelTimer: (() => void) | undefined
  #asked: number | undefined
  #since = 0
  #running = 0
  #queried = false
  #idle: (() => void) | undefined
  #over: 'committed' | 'rolled back' | 'out of time' | undefined

  constructor(host: Host<Note>, options: PartOptions) {
    this.#host = host
    this.options = options
    this.tx = transactionOver(host.engine, (query) => this.#run(query))
  }

  get kept(): boolean {
    return this.#over === 'committed'
  }

  /** Aborted when it has ended before its turn came. */
  get given(): AbortSignal {
    return (this.#given ??= new AbortController()).signal
  }

  get waiting(): boolean {
    return this.#since === 0 && this.#asked !== undefined
  }

  get waited(): number {
    if (this.#asked === undefined) return 0
    return (this.#since === 0 ? this.#host.scheduler.elapsed() : this.#since) - this.#asked
  }

  get took(): number {
    return this.#since === 0 ? 0 : this.#host.scheduler.elapsed() - this.#since
  }

  within<T>(work: () => T): T {
    return insideTransaction(this.#mark, work)
  }

  async keep(note: Note): Promise<{ committed: Promise<void> }> {
    if (this.#statements === 0 && !this.#over && this.#host.mayBatch(this, undefined)) this.#join(undefined)
    if (!this.#member) await this.#turn()
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    this.#throwIfOver()
    const group = this.#group
    if (!group) return this.#keepAsMember(note)
    group.carrier.keep(this.#queried)
    this.#end('committed')
    const committed = new Promise<void>((resolve, reject) =>
      this.#host.turnOver(group, { note, resolve, reject }),
    )
    return { committed }
  }

  async undo(): Promise<void> {
    if (this.#over) return
    this.#end('rolled back')
    this.#leave()
  }

  began(): void {
    if (this.#over) return
    this.#since = this.#host.scheduler.elapsed()
    this.#cancelTimer = this.#host.scheduler.after(this.#limit, () => this.#expire())
  }

  tookTurn(group: Group<Note>): void {
    this.#group = group
  }

  failed(error: Error): void {
    this.#failure = error
    this.#cancelTimer?.()
  }

  left(): void {
    this.#host.leave(this)
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    refuseTransactionControl(query.sql)
    this.#throwIfOver()
    this.#statements += 1
    if (this.#statements === 1 && this.#host.mayBatch(this, query))
      return this.#answered(this.#join(query).answer)
    await this.#turn()
    const result = this.#group!.carrier.run(query)
    return result instanceof Promise ? this.#answered(result) : result
  }

  async #answered(result: Promise<QueryResult<unknown>>): Promise<QueryResult<unknown>> {
    this.#running += 1
    try {
      return await result
    } finally {
      this.#queried = true
      this.#running -= 1
      if (this.#running === 0) this.#idle?.()
    }
  }

  #join(query: CompiledQuery | undefined): Member<Note> {
    this.#asked = this.#host.scheduler.elapsed()
    const member = (this.#member = new Member<Note>(this, query))
    this.#host.join(this, member)
    return member
  }

  #keepAsMember(note: Note): { committed: Promise<void> } {
    const member = this.#member!
    this.#end('committed')
    return { committed: new Promise<void>((resolve, reject) => member.keep({ note, resolve, reject })) }
  }

  #throwIfOver(): void {
    if (this.#over) throw new TransactionOver(this.#over)
    if (this.#failure) throw this.#failure
  }

  async #turn(): Promise<void> {
    this.#throwIfOver()
    if (this.#group) return
    await (this.#member ? this.#member.ownTurn() : (this.#entering ??= this.#enter()))
    this.#throwIfOver()
  }

  async #enter(): Promise<void> {
    this.#asked = this.#host.scheduler.elapsed()
    const group = await this.#host.enter(this)
    if (this.#over) return this.#giveUp(group, false)
    this.#group = group
    this.#mark.held = true
    this.began()
  }

  get #limit(): number {
    const { alone, timeLimit, turnLimit } = this.options
    return alone ? timeLimit : Math.min(timeLimit, turnLimit)
  }

  #expire(): void {
    this.#end('out of time')
    this.#leave()
    this.options.onTimeLimit(this.#limit < this.options.timeLimit)
  }

  #leave(): void {
    const busy = this.#running > 0
    if (this.#group) this.#giveUp(this.#group, busy)
    else if (this.#member) this.#member.leave(busy, new TransactionOver(this.#over!))
    else this.#host.leave(this)
  }

  /** What waits for the answer to a statement cannot be undone: then all that share the transaction begin again. */
  #giveUp(group: Group<Note>, busy: boolean): void {
    if (busy) return this.#host.fail(group, new TransactionOver('out of time'))
    try {
      group.carrier.undo()
    } catch (error) {
      return this.#host.fail(group, error)
    }
    this.#host.turnOver(group)
  }

  #end(how: 'committed' | 'rolled back' | 'out of time'): void {
    this.#over = how
    this.#cancelTimer?.()
    this.#mark.held = false
    this.#host.learn(this, how === 'committed' && this.#statements <= 1)
    if (!this.#group) this.#given?.abort(new TransactionOver(how))
  }
}
