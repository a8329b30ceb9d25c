/** One bit for each number from 0 on: millions of numbers in a few hundred kilobytes. */
export class Bits {
  #bytes = new Uint8Array(64 * 1024)

  /** Sets a bit; false when it was set before. */
  add(number: number): boolean {
    const place = number >> 3
    if (place >= this.#bytes.length) this.#grow(place)
    const bit = 1 << (number & 7)
    if ((this.#bytes[place]! & bit) !== 0) return false
    this.#bytes[place]! |= bit
    return true
  }

  has(number: number): boolean {
    return ((this.#bytes[number >> 3] ?? 0) & (1 << (number & 7))) !== 0
  }

  #grow(place: number): void {
    const bytes = new Uint8Array(Math.max(place + 1, this.#bytes.length * 2))
    bytes.set(this.#bytes)
    this.#bytes = bytes
  }
}
