/** A sequence of numbers that a seed decides (mulberry32): every failure can be had again. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count)
    for (let at = 0; at < count; at += 1) bytes[at] = this.below(256)
    return bytes
  }

  /** Small numbers mostly, now and then one at an edge of what a length may be. */
  length(): number {
    return this.is(0.9) ? this.below(200) : this.pick([0, 1, 255, 256, 257, 1_023, 4_096, 8_191, 20_000])
  }
}
