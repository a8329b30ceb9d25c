export interface BodyLimits {
  /** Bytes that bodies may take while they are read, all requests together. */
  bytes: number
  /** The share of them that is for bodies that have begun: above the rest, no new one is begun. */
  reserve: number
  /** Bodies that may be read at once. */
  bodies: number
}

export const bodyLimits: BodyLimits = { bytes: 64 * 1024 * 1024, reserve: 16 * 1024 * 1024, bodies: 10_000 }

/**
 * What the bodies that are being read may take of this process's memory. Counted is what came, not what was announced:
 * a length that is only claimed takes nothing from anybody. Who sends much and slowly fills it all the same, until the
 * time for a request is over; what is full is answered with 503, and costs no memory.
 */
export class BodyBudget {
  readonly #limits: BodyLimits
  #bytes = 0
  #bodies = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  /** Bytes that are held for bodies that have not come whole. */
  get bytes(): number {
    return this.#bytes
  }

  /** Bodies that are being read. */
  get bodies(): number {
    return this.#bodies
  }

  /** Whether a body may be begun, of which `announced` bytes are to come; `end` it then. */
  begin(announced: number): boolean {
    const { bytes, reserve, bodies } = this.#limits
    if (this.#bodies >= bodies || this.#bytes >= bytes - reserve || this.#bytes + announced > bytes)
      return false
    this.#bodies += 1
    return true
  }

  /** Whether a body that has begun may hold so many bytes more. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#limits.bytes) return false
    this.#bytes += bytes
    return true
  }

  /** Gives back all that a body holds. */
  end(held: number): void {
    this.#bodies -= 1
    this.#bytes -= held
  }
}
