import type { CompiledQuery, QueryResult } from 'kysely'
import type { Scheduler } from '../../clock.ts'
import type { Part, PartOptions, Tx } from '../database.ts'
import { insideTransaction } from '../inside-transaction.ts'
import { transactionOver, type Engine } from '../query-runner.ts'
import { refuseTransactionControl } from '../transaction-control.ts'
import { TransactionOver } from '../transaction-over.ts'
import type { Group, Kept } from './group.ts'

/** Who hands out the turns. */
export interface Host<Note> {
  readonly engine: Engine
  readonly scheduler: Scheduler
  /** Resolves with the part's turn. */
  enter(part: SharedPart<Note>): Promise<Group<Note>>
  /** The part does not want its turn any more. */
  leave(part: SharedPart<Note>): void
  /** The part that had the turn has ended. */
  turnOver(group: Group<Note>, kept?: Kept<Note>): void
  /** The transaction cannot go on. */
  fail(group: Group<Note>, error: unknown): void
}

/** @see Part */
export class SharedPart<Note> implements Part<Note> {
  readonly tx: Tx
  readonly options: PartOptions
  /** Aborted when it has ended before its turn came. */
  readonly given = new AbortController()
  readonly #host: Host<Note>
  /** Shared with whoever runs within it: tells that a wait for the write lock would be a wait for itself. */
  readonly #mark = { held: false }
  #entering: Promise<void> | undefined
  #group: Group<Note> | undefined
  #cancelTimer: (() => void) | undefined
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

  get took(): number {
    return this.#since === 0 ? 0 : this.#host.scheduler.elapsed() - this.#since
  }

  within<T>(work: () => T): T {
    return insideTransaction(this.#mark, work)
  }

  async keep(note: Note): Promise<{ committed: Promise<void> }> {
    await this.#turn()
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    if (this.#over) throw new TransactionOver(this.#over)
    const group = this.#group!
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
    if (this.#group) this.#giveUp(this.#group, this.#running > 0)
    else this.#host.leave(this)
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    refuseTransactionControl(query.sql)
    await this.#turn()
    const result = this.#group!.carrier.run(query)
    if (!(result instanceof Promise)) return result
    this.#running += 1
    try {
      return await result
    } finally {
      this.#queried = true
      this.#running -= 1
      if (this.#running === 0) this.#idle?.()
    }
  }

  async #turn(): Promise<void> {
    if (this.#over) throw new TransactionOver(this.#over)
    if (this.#group) return
    await (this.#entering ??= this.#enter())
    if (this.#over) throw new TransactionOver(this.#over)
  }

  async #enter(): Promise<void> {
    const group = await this.#host.enter(this)
    if (this.#over) return this.#giveUp(group, false)
    this.#group = group
    this.#mark.held = true
    this.#since = this.#host.scheduler.elapsed()
    this.#cancelTimer = this.#host.scheduler.after(this.#limit, () => this.#expire(group))
  }

  get #limit(): number {
    const { alone, timeLimit, turnLimit } = this.options
    return alone ? timeLimit : Math.min(timeLimit, turnLimit)
  }

  #expire(group: Group<Note>): void {
    this.#end('out of time')
    this.#giveUp(group, this.#running > 0)
    this.options.onTimeLimit(this.#limit < this.options.timeLimit)
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
    if (!this.#group) this.given.abort(new TransactionOver(how))
  }
}
