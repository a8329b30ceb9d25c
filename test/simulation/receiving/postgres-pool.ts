import type { Pool, PoolClient } from 'pg'
import type { SqlValue } from '../../../src/storage/sqlite/connection.ts'
import { ConnectionLost, latency, Refused } from './faults.ts'
import type { ServerAnswer, Session } from './server.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

/** Milliseconds that a connection is waited for, as the real pool is set. */
const connectWithin = 3_000

interface Waiting {
  readonly give: (client: SimulatedClient) => void
  readonly reject: (error: Error) => void
  readonly cancel: () => void
}

/** What pg's pool does for transactions: a bounded number of sessions, kept while nobody needs them. */
export class SimulatedPool {
  readonly #world: World
  readonly #process: VirtualProcess
  readonly #most: number
  #sessions = 0
  readonly #idle: SimulatedClient[] = []
  readonly #waiting: Waiting[] = []

  constructor(world: World, process: VirtualProcess, most: number) {
    this.#world = world
    this.#process = process
    this.#most = most
  }

  connect(): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      const idle = this.#idle.pop()
      const give = (client: SimulatedClient): void => {
        client.checkedOut = true
        resolve(client as unknown as PoolClient)
      }
      if (idle) return give(idle)
      if (this.#sessions < this.#most) return this.#open(give, reject)
      const waiting: Waiting = {
        give,
        reject,
        cancel: this.#process.after(connectWithin, () => {
          this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
          reject(new Error('timeout exceeded when trying to connect'))
        }),
      }
      this.#waiting.push(waiting)
    })
  }

  get asPool(): Pool {
    return this as unknown as Pool
  }

  #open(give: (client: SimulatedClient) => void, reject: (error: Error) => void): void {
    const { server, chance, weather } = this.#world
    this.#sessions += 1
    this.#process.after(latency(weather, chance), () => {
      let session: Session
      try {
        session = server.connect(this.#process)
      } catch {
        this.#sessions -= 1
        return reject(new Refused())
      }
      const client = new SimulatedClient(session, (broken) => this.#back(client, broken))
      session.onLost = () => {
        const place = this.#idle.indexOf(client)
        if (place < 0) return
        this.#idle.splice(place, 1)
        this.#gone()
      }
      give(client)
    })
  }

  #back(client: SimulatedClient, broken: boolean): void {
    if (broken || !client.session.open) {
      client.session.onLost = () => undefined
      // The server hears of it when it looks: what it is doing is done to its end.
      this.#world.time.at(this.#world.time.now + this.#world.chance.next(), () => client.session.close())
      return this.#gone()
    }
    const next = this.#waiting.shift()
    if (!next) return void this.#idle.push(client)
    next.cancel()
    next.give(client)
  }

  #gone(): void {
    this.#sessions -= 1
    const next = this.#waiting.shift()
    if (!next) return
    next.cancel()
    this.#open(next.give, next.reject)
  }
}

/** What pg's client does for transactions. */
class SimulatedClient {
  /** Where the driver gathers what it sends. */
  readonly connection = { stream: { cork: () => undefined, uncork: () => undefined } }
  readonly session: Session
  readonly #back: (broken: boolean) => void
  /** As the last answer told. */
  #status: 'I' | 'T' | 'E' = 'I'
  checkedOut = false

  constructor(session: Session, back: (broken: boolean) => void) {
    this.session = session
    this.#back = back
  }

  getTransactionStatus(): 'I' | 'T' | 'E' {
    return this.#status
  }

  query(
    statement: string | { text: string; values: readonly SqlValue[] },
    second?: readonly SqlValue[] | (() => void),
  ): Promise<ServerAnswer> | undefined {
    const callback = typeof second === 'function' ? second : undefined
    const statements =
      typeof statement === 'string'
        ? callback || !second
          ? statement.split('; ').map((text) => ({ text, values: [] }))
          : [{ text: statement, values: second as readonly SqlValue[] }]
        : [statement]
    const answer = this.session.open ? this.session.ask(statements) : Promise.reject(new ConnectionLost())
    const seen = answer.finally(() => {
      this.#status = this.session.transaction ? (this.session.failed ? 'E' : 'T') : 'I'
    })
    if (!callback) return seen
    // What fails here makes what comes behind it fail, which tells.
    seen.catch(() => undefined)
    return undefined
  }

  on(): this {
    return this
  }

  once(): this {
    return this
  }

  removeListener(): this {
    return this
  }

  release(broken = false): void {
    if (!this.checkedOut) throw new Error('a connection was given back twice')
    this.checkedOut = false
    this.#back(broken)
  }
}
