import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import type { ClaimListener } from '../../../src/storage/postgres/claimer.ts'
import { latency, Refused } from './faults.ts'
import type { Session } from './server.ts'
import { StoredTransaction } from './storage.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

// As in src/storage/postgres/claimer.ts, in milliseconds.
const lookEvery = 1_000
const longestGap = 4_000
const reconnectAfter = 250
const loseAfter = 2_500
const takeOverAfter = 6_000

/** The rows of the claimers, and who holds the lock of each. */
export class Claimers {
  readonly rows = new Map<number, Session | undefined>()
  #last = 0

  enlist(session: Session): number {
    this.#last += 1
    this.rows.set(this.#last, session)
    return this.#last
  }

  missing(): number[] {
    return [...this.rows].filter(([, session]) => !session?.open).map(([id]) => id)
  }
}

/**
 * Tells a process's life to the others, and takes over what dead ones had claimed: what the real one does with a session
 * and an advisory lock.
 */
export class SimulatedClaimer {
  readonly #world: World
  readonly #process: VirtualProcess
  readonly #missing = new Map<number, number>()
  #lookedAt = 0
  #listener: ClaimListener | undefined
  #session: Session | undefined
  #id: number | undefined
  #ready = false
  #cancelLoss: (() => void) | undefined

  constructor(world: World, process: VirtualProcess) {
    this.#world = world
    this.#process = process
  }

  async start(listener: ClaimListener): Promise<void> {
    if (this.#listener) return
    await this.#connect()
    this.#listener = listener
  }

  newClaim(): string {
    if (!this.#ready)
      throw new StorageUnavailable(new Error('the session that holds the claims is not there'))
    return `${this.#id}:${this.#world.newName('claim')}`
  }

  async close(): Promise<void> {
    if (this.#ready) this.#world.claimers.rows.delete(this.#id!)
    this.#ready = false
    if (this.#session) this.#session.onLost = () => undefined
    this.#session?.close()
  }

  async #connect(): Promise<void> {
    const { server, claimers, chance, weather, trace } = this.#world
    await new Promise<void>((resolve) => this.#process.after(latency(weather, chance), resolve))
    if (!server.up) throw new StorageUnavailable(new Refused())
    const session = server.connect(this.#process)
    if (this.#id !== undefined && !claimers.rows.has(this.#id)) this.#lose()
    if (this.#id === undefined) this.#id = claimers.enlist(session)
    else claimers.rows.set(this.#id, session)
    trace(this.#process.name, `is claimer ${this.#id}`)
    this.#session = session
    this.#ready = true
    this.#cancelLoss?.()
    session.onLost = () => this.#broken(session)
    void this.#look(session)
  }

  #broken(session: Session): void {
    if (this.#session !== session || !this.#ready) return
    this.#ready = false
    this.#world.trace(this.#process.name, 'the session of its claims breaks')
    this.#cancelLoss = this.#process.after(loseAfter, () => this.#lose())
    this.#reconnect()
  }

  #reconnect(): void {
    this.#process.after(reconnectAfter, () => {
      this.#connect().catch(() => this.#reconnect())
    })
  }

  #lose(): void {
    this.#world.trace(this.#process.name, 'has lost its claims')
    this.#cancelLoss?.()
    this.#id = undefined
    this.#listener?.lost()
  }

  async #look(session: Session): Promise<void> {
    const { claimers, chance, weather } = this.#world
    await new Promise<void>((resolve) => this.#process.after(latency(weather, chance), resolve))
    if (!session.open) return
    const now = this.#process.now()
    if (now - this.#lookedAt > longestGap) this.#missing.clear()
    this.#lookedAt = now
    const ids = new Set(claimers.missing())
    for (const id of this.#missing.keys()) if (!ids.has(id)) this.#missing.delete(id)
    for (const id of ids) if (!this.#missing.has(id)) this.#missing.set(id, now)
    const dead = [...ids].filter((id) => now - this.#missing.get(id)! >= takeOverAfter)
    if (dead.length > 0) await this.#takeOver(dead, now)
    this.#process.after(lookEvery, () => void this.#look(session))
  }

  async #takeOver(dead: number[], now: number): Promise<void> {
    const { claimers, storage, trace } = this.#world
    for (const id of dead) {
      if (claimers.rows.get(id)?.open) continue
      claimers.rows.delete(id)
      const transaction = storage.begin()
      const sql = `update inbox set claim = null, due_at = ? where status = 'pending' and claim like ?`
      let done = storage.run(transaction, sql, [now, `${id}:%`])
      while (done instanceof StoredTransaction) {
        await done.ended
        done = storage.run(transaction, sql, [now, `${id}:%`])
      }
      storage.commit(transaction)
      trace(this.#process.name, `takes over ${done.changes} of claimer ${id}`)
      if (done.changes > 0) this.#listener?.freed()
    }
  }
}
