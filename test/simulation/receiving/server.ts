import { advanceAll, advanceOne, lockKeys } from '../../../src/receiving/queue/store.ts'
import type { SqlValue } from '../../../src/storage/sqlite/connection.ts'
import { ConnectionLost, latency, StatementFailed } from './faults.ts'
import { StoredTransaction, type Answer } from './storage.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

/** What PostgreSQL answers to a statement. */
export interface ServerAnswer {
  command: string
  rows: Record<string, SqlValue>[]
  rowCount: number
}

/** A PostgreSQL over the tables in memory: sessions that do one statement after the other, and may be ended at any time. */
export class Server {
  up = true
  readonly #world: World
  readonly #sessions = new Set<Session>()

  constructor(world: World) {
    this.#world = world
  }

  /** @throws when there is no server. */
  connect(process: VirtualProcess): Session {
    if (!this.up) throw new ConnectionLost()
    const session = new Session(this.#world, process, () => this.#sessions.delete(session))
    this.#sessions.add(session)
    return session
  }

  /** `pg_ctl stop -m immediate`: nobody's transaction is committed. */
  down(): void {
    this.up = false
    for (const session of this.#sessions) session.close()
  }

  /** The kernel ends the connections of a process that is no more; what was on its way to the server is done still. */
  endSessionsOf(process: VirtualProcess): void {
    for (const session of this.#sessions) {
      if (session.process !== process) continue
      this.#world.time.at(this.#world.time.now + 3 * this.#world.chance.next(), () => session.close())
    }
  }

  sessionsOf(process: VirtualProcess): Session[] {
    return [...this.#sessions].filter((session) => session.process === process)
  }
}

export class Session {
  readonly process: VirtualProcess
  open = true
  /** Calls when it has ended by other than its own wish. */
  onLost: () => void = () => undefined
  transaction: StoredTransaction | undefined
  /** A statement of the transaction has failed: it takes no more. */
  failed = false
  /** Milliseconds that a statement of the transaction waits for a lock. */
  #lockTimeout = Infinity
  readonly #world: World
  readonly #leave: () => void
  #before: Promise<unknown> = Promise.resolve()
  #gone: (() => void) | undefined
  readonly #closed: Promise<void>

  constructor(world: World, process: VirtualProcess, leave: () => void) {
    this.#world = world
    this.process = process
    this.#leave = leave
    this.#closed = new Promise((resolve) => (this.#gone = resolve))
  }

  /**
   * Sends statements, and gives the answer to the last one when it has come back to the process: never, when that is no
   * more.
   */
  ask(statements: readonly { text: string; values: readonly SqlValue[] }[]): Promise<ServerAnswer> {
    const { time, chance, weather } = this.#world
    const done = this.#before.then(async () => {
      let answer: ServerAnswer = { command: '', rows: [], rowCount: 0 }
      await time.pass(latency(weather, chance))
      for (const { text, values } of statements) answer = await this.#run(text, values)
      return answer
    })
    this.#before = done.catch(() => undefined)
    return this.deliver(done)
  }

  /** Brings what happened at the server to the process. A session that is lost meanwhile tells so at once. */
  deliver<T>(done: Promise<T>): Promise<T> {
    const { chance, weather } = this.#world
    return new Promise((resolve, reject) => {
      const arrive = (then: () => void): void => {
        this.process.after(latency(weather, chance), then)
      }
      done.then(
        (value) => arrive(() => (this.open ? resolve(value) : reject(new ConnectionLost()))),
        (error: Error) => arrive(() => reject(error)),
      )
      void this.#closed.then(() => arrive(() => reject(new ConnectionLost())))
    })
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.#leave()
    this.#end('rollback')
    this.#gone?.()
    this.process.after(0, () => this.onLost())
  }

  async #run(text: string, values: readonly SqlValue[]): Promise<ServerAnswer> {
    const { storage, chance, weather, trace } = this.#world
    if (!this.open) throw new ConnectionLost()
    if (chance.is(weather.connectionBreaks)) {
      trace(this.process.name, `the connection breaks at ${text.slice(0, 30)}`)
      this.close()
      throw new ConnectionLost()
    }
    if (text === 'begin') {
      this.transaction = storage.begin()
      this.failed = false
      this.#lockTimeout = Infinity
      return told('BEGIN')
    }
    if (text === 'commit') return this.#endAs(text)
    if (text === 'rollback' || text.startsWith('rollback; ')) return this.#endAs('rollback')
    const { transaction } = this
    if (!transaction) throw new Error(`${text}: there is no transaction`)
    if (text === 'reset all') this.#lockTimeout = Infinity
    if (text.startsWith('set local lock_timeout'))
      this.#lockTimeout = Number(/ = (\d+)$/.exec(text)?.[1] ?? Infinity)
    // Other time limits are the process's own here.
    if (/^(?:set|reset|close|discard|unlisten|select pg_advisory_unlock_all)\b/.test(text)) return told('SET')
    const [, control, name] = /^(rollback to |release |)savepoint (\w+)$/.exec(text) ?? []
    if (control === 'rollback to ') {
      storage.rollBackTo(transaction, name!)
      this.failed = false
      return told('ROLLBACK')
    }
    if (this.failed) throw new Error('current transaction is aborted, commands ignored until end of block')
    try {
      if (chance.is(weather.statementFails)) throw new StatementFailed()
      if (name !== undefined) {
        if (control === '') storage.savepoint(transaction, name)
        else storage.release(transaction, name)
        return told('SAVEPOINT')
      }
      return await this.#do(transaction, text, values)
    } catch (error) {
      trace(this.process.name, `a statement fails: ${(error as Error).message}`)
      this.failed = true
      throw error
    }
  }

  async #do(
    transaction: StoredTransaction,
    text: string,
    values: readonly SqlValue[],
  ): Promise<ServerAnswer> {
    const { storage } = this.#world
    const keys = (): string[] => values[0] as unknown as string[]
    if (text === lockKeys) {
      await this.#whenFree(transaction, () => storage.lockKeys(transaction, keys()))
      return told('SELECT')
    }
    if (text === advanceAll) {
      for (const key of keys()) await this.#statement(transaction, advanceOne, [key, key])
      return told('UPDATE')
    }
    const answer = await this.#statement(transaction, ...asSqlite(text, values))
    return { command: '', rows: answer.rows, rowCount: answer.changes }
  }

  async #statement(
    transaction: StoredTransaction,
    sql: string,
    values: readonly SqlValue[],
  ): Promise<Answer> {
    let answer: Answer | undefined
    await this.#whenFree(transaction, () => {
      const done = this.#world.storage.run(transaction, sql, values)
      if (done instanceof StoredTransaction) return done
      answer = done
      return undefined
    })
    return answer!
  }

  /** Tries again after the end of the transaction that blocks it. */
  async #whenFree(
    transaction: StoredTransaction,
    attempt: () => StoredTransaction | undefined,
  ): Promise<void> {
    const { time } = this.#world
    const until = time.now + this.#lockTimeout
    for (let holder = attempt(); holder; holder = attempt()) {
      for (let other: StoredTransaction | undefined = holder; other; other = other.waitsFor)
        if (other === transaction) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
      transaction.waitsFor = holder
      if (until === Infinity) await holder.ended
      else await Promise.race([holder.ended, time.pass(until - time.now)])
      transaction.waitsFor = undefined
      if (!holder.over && time.now >= until)
        throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
      if (!this.open) throw new ConnectionLost()
    }
  }

  #endAs(text: 'commit' | 'rollback'): ServerAnswer {
    const { chance, weather, trace } = this.#world
    if (text === 'commit' && !this.failed && this.transaction) {
      if (chance.is(weather.commitFails)) {
        trace(this.process.name, 'commit fails')
        this.#end('rollback')
        throw new StatementFailed()
      }
      this.#end('commit')
      if (chance.is(weather.answerIsLost)) {
        trace(this.process.name, 'committed, and the answer is lost')
        this.close()
        throw new ConnectionLost()
      }
      return told('COMMIT')
    }
    this.#end('rollback')
    return told('ROLLBACK')
  }

  #end(how: 'commit' | 'rollback'): void {
    const { storage } = this.#world
    const { transaction } = this
    this.transaction = undefined
    this.failed = false
    if (!transaction || transaction.over) return
    if (how === 'commit') storage.commit(transaction)
    else storage.rollBack(transaction)
  }
}

function told(command: string): ServerAnswer {
  return { command, rows: [], rowCount: 0 }
}

/** The statement with SQLite's placeholders; `for update` is what each of its statements does. */
function asSqlite(text: string, values: readonly SqlValue[]): [string, SqlValue[]] {
  const used: SqlValue[] = []
  const sql = text.replace(/\$(\d+)/g, (_, number: string) => {
    used.push(values[Number(number) - 1]!)
    return '?'
  })
  return used.length === 0
    ? [text, [...values]]
    : [sql.replace(/ for update(?: of "event_queue")?$/, ''), used]
}
