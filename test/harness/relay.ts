// One direction of a connection through a link.ts: bytes pass at once, late, slowly, or not at all for a while.
import type { Socket } from 'node:net'

export interface Shape {
  /** Milliseconds by which bytes are late in each direction. Default 0. */
  delay?: number
  /** Bytes per second of each direction of each connection. Default: no limit. */
  bandwidth?: number
}

/** Bytes that wait in a relay at which it stops reading. */
const mostWaiting = 256 * 1024

export class Relay {
  readonly #from: Socket
  readonly #to: Socket
  readonly #shape: () => Shape
  readonly #onPass: (() => void) | undefined
  readonly #queue: { due: number; bytes: Buffer }[] = []
  #waiting = 0
  #lastDue = 0
  #ended = false
  #held = false
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  /** @param onPass is called when bytes have passed */
  constructor(from: Socket, to: Socket, shape: () => Shape, onPass?: () => void) {
    this.#from = from
    this.#to = to
    this.#shape = shape
    this.#onPass = onPass
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('end', () => {
      this.#ended = true
      this.#pass()
    })
    to.on('drain', () => this.#pass())
  }

  /** Nothing passes until `release`; both ends keep their connections, and nothing is lost. */
  hold(): void {
    this.#held = true
    this.#from.pause()
  }

  release(): void {
    this.#held = false
    this.#pass()
  }

  /** Nothing passes any more. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#from.pause()
  }

  #take(bytes: Buffer): void {
    if (this.#stopped) return
    const { delay = 0, bandwidth = Infinity } = this.#shape()
    const due = Math.max(performance.now() + delay, this.#lastDue) + (bytes.length / bandwidth) * 1000
    this.#lastDue = due
    this.#queue.push({ due, bytes })
    this.#waiting += bytes.length
    if (this.#waiting > mostWaiting) this.#from.pause()
    this.#pass()
  }

  #pass(): void {
    clearTimeout(this.#timer)
    if (this.#held || this.#stopped || this.#to.destroyed) return
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const late = next.due - performance.now()
      if (late > 0) {
        this.#timer = setTimeout(() => this.#pass(), late)
        return
      }
      if (this.#to.writableNeedDrain) return
      this.#queue.shift()
      this.#waiting -= next.bytes.length
      this.#to.write(next.bytes)
      this.#onPass?.()
    }
    if (this.#ended) this.#to.end()
    else this.#from.resume()
  }
}
