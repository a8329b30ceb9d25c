import { StorageUnavailable } from '../unavailable.ts'

/** A bounded number of places for work that takes a connection each, handed out in the order of asking. */
export class Places {
  #free: number
  readonly #within: number
  readonly #waiting: (() => void)[] = []

  /** @param within milliseconds that a place is waited for */
  constructor(most: number, within: number) {
    this.#free = most
    this.#within = within
  }

  /** Runs `work` once there is a place for it. @throws StorageUnavailable when there is none in time. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(new StorageUnavailable(new Error('all connections for such work are in use')))
      }, this.#within)
      this.#waiting.push(enter)
    })
  }
}
