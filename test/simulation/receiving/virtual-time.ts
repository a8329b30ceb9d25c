import { setImmediate as turn } from 'node:timers/promises'
import type { Scheduler } from '../../../src/runtime/clock.ts'
import type { Chance } from '../../harness/chance.ts'

interface Entry {
  at: number
  /** In which order entries of the same moment were made. */
  readonly number: number
  readonly callback: () => void
  readonly process: VirtualProcess | undefined
  cancelled: boolean
}

/** Milliseconds. */
const longSuspension = 500

const epoch = Date.UTC(2026, 0, 1)

/** Milliseconds that pass only by what happens in them; the same seed gives the same order of everything. */
export class VirtualTime {
  now = 0
  /** Callbacks called so far. */
  steps = 0
  #made = 0
  /** A binary heap, the earliest first. */
  readonly #entries: Entry[] = []

  /** @param process whose callback it is: it is not called when that is dead by then, and later when it is suspended. */
  at(at: number, callback: () => void, process?: VirtualProcess): () => void {
    const entry = {
      at: Math.max(at, this.now),
      number: (this.#made += 1),
      callback,
      process,
      cancelled: false,
    }
    this.#push(entry)
    return () => (entry.cancelled = true)
  }

  /** Resolves after so many milliseconds, in nobody's process. */
  pass(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.at(this.now + milliseconds, resolve))
  }

  /** Goes on until `done`; false when that does not come before `limit`, or nothing is left to happen. */
  async run(done: () => boolean, limit: number): Promise<boolean> {
    // Whatever was begun by the caller comes to its first wait.
    await turn()
    while (!done()) {
      const entry = this.#pop()
      if (!entry || entry.at > limit) {
        if (entry) this.#push(entry)
        return false
      }
      if (entry.cancelled || entry.process?.alive === false) continue
      const suspended = entry.process?.suspendedUntil ?? 0
      if (suspended > entry.at) {
        // The same entry: it may be cancelled while it waits.
        entry.at = suspended
        this.#push(entry)
        continue
      }
      this.now = entry.at
      this.steps += 1
      entry.callback()
      // All promises that can be settled are, before anything else happens.
      await turn()
    }
    return true
  }

  #push(entry: Entry): void {
    const heap = this.#entries
    let place = heap.push(entry) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[place] = heap[parent]!
      place = parent
    }
    heap[place] = entry
  }

  #pop(): Entry | undefined {
    const heap = this.#entries
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, last)) break
      heap[place] = heap[child]!
      place = child
    }
    heap[place] = last
    return first
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number)
}

/** A process as its clock and its loop see it. When it is killed, whatever it waited for never comes. */
export class VirtualProcess implements Scheduler {
  readonly name: string
  alive = true
  suspendedUntil = 0
  /** The end of the last suspension in which others could take it for dead. */
  stoodStillUntil = -Infinity
  readonly #time: VirtualTime
  readonly #chance: Chance
  /** What its clock is wrong by. */
  readonly #skew: number

  constructor(name: string, time: VirtualTime, chance: Chance, skew = 0) {
    this.name = name
    this.#time = time
    this.#chance = chance
    this.#skew = skew
  }

  now(): number {
    return Math.floor(epoch + this.#time.now + this.#skew)
  }

  elapsed(): number {
    return this.#time.now
  }

  after(ms: number, callback: () => void): () => void {
    return this.#time.at(this.#time.now + Math.max(0, ms) + this.#chance.next(), callback, this)
  }

  /** A turn of the loop takes a moment, now and then a long one. */
  soon(callback: () => void): void {
    const lasts = this.#chance.is(0.02) ? 30 * this.#chance.next() : 0.5 * this.#chance.next()
    this.#time.at(this.#time.now + lasts, callback, this)
  }

  /** As the kernel or a collection of garbage would stop it: everything comes late. */
  suspend(milliseconds: number): void {
    this.suspendedUntil = Math.max(this.suspendedUntil, this.#time.now + milliseconds)
    if (milliseconds >= longSuspension) this.stoodStillUntil = this.suspendedUntil
  }
}
