import { StorageUnavailable } from '../../unavailable.ts'

/** Bounds how many pieces of work run at once. Waiting work runs in order. */
export class Semaphore {
  #free: number
  readonly #within: number
  readonly #waiting: (() => void)[] = []

  /** @param within milliseconds that work may wait */
  constructor(most: number, within: number) {
    this.#free = most
    this.#within = within
  }

  /** @throws StorageUnavailable if the work cannot begin in time */
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
