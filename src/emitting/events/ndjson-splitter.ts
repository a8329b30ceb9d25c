/** A line of a body without its line break. Empty lines count in the numbers but are not returned. */
export interface Line {
  /** Starts at 1. */
  number: number
  /** `undefined` for a line longer than the limit. */
  bytes: Buffer | undefined
}

const newline = 0x0a
const carriageReturn = 0x0d

/** Splits chunks into lines. Buffers at most `limit` bytes of an incomplete line. */
export class NdjsonSplitter {
  readonly #limit: number
  #pieces: Buffer[] = []
  #held = 0
  #tooLong = false
  #number = 0

  /** @param limit bytes of a line */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Buffered bytes of the incomplete line. */
  get held(): number {
    return this.#held
  }

  /** Complete lines so far. */
  get number(): number {
    return this.#number
  }

  /** Returns the lines that this chunk completes. */
  push(chunk: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, at))
      const line = this.#take()
      if (line) lines.push(line)
      from = at + 1
    }
    this.#add(chunk.subarray(from))
    return lines
  }

  /** Returns the last line if the body does not end with a line break. */
  end(): Line | undefined {
    return this.#take()
  }

  /** Drops the incomplete line. */
  discard(): void {
    this.#pieces = []
    this.#held = 0
  }

  #add(piece: Buffer): void {
    if (piece.length === 0 || this.#tooLong) return
    if (this.#held + piece.length > this.#limit) {
      this.#tooLong = true
      this.#pieces = []
      this.#held = 0
      return
    }
    this.#pieces.push(piece)
    this.#held += piece.length
  }

  #take(): Line | undefined {
    const [first = Buffer.alloc(0)] = this.#pieces
    const whole = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first
    const tooLong = this.#tooLong
    this.#pieces = []
    this.#held = 0
    this.#tooLong = false
    this.#number += 1
    if (tooLong) return { number: this.#number, bytes: undefined }
    const bytes = whole.at(-1) === carriageReturn ? whole.subarray(0, -1) : whole
    return bytes.length === 0 ? undefined : { number: this.#number, bytes }
  }
}
