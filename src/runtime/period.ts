/** A period of time in one process. It is over if the clock is set back: otherwise it would last for as long as that. */
export class Period {
  #from = Infinity
  #until = -Infinity

  /** @param lasts milliseconds; may be Infinity */
  start(now: number, lasts: number): void {
    this.#from = now
    this.#until = now + lasts
  }

  end(): void {
    this.#until = -Infinity
  }

  has(now: number): boolean {
    return now >= this.#from && now < this.#until
  }
}
