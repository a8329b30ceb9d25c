import { isWithoutRoom } from '../unavailable.ts'
import { RetryingPool, type Connected, type RenewedPoolConfig } from './retrying-pool.ts'

const nothing = (): void => undefined

/** Milliseconds for which a pool that has no connection does not ask a server without room for one again. */
const askAgainAfter = 500
/** The same for one that has some, and makes do with them. */
const growAgainAfter = 5_000

/**
 * A pool that makes do with the connections that it has while the server has no room for more: a caller waits
 * for one of those, as when all that it may have are in use. Emits `no-room` with the error.
 */
export class LimitedPool extends RetryingPool {
  readonly #most: number
  readonly #limit: { max: number }
  #usable = 0
  #refusal: { error: Error; until: number } | undefined

  constructor(config: RenewedPoolConfig & { max: number }) {
    super(config)
    this.#most = config.max
    this.#limit = (this as unknown as { options: { max: number } }).options
    this.on('connect', () => (this.#usable += 1))
    this.on('remove', () => (this.#usable -= 1))
  }

  protected override acquire(callback: Connected): void {
    if (this.#refusal && this.#usable === 0 && performance.now() < this.#refusal.until) {
      const { error } = this.#refusal
      return process.nextTick(() => callback(error, undefined, nothing))
    }
    super.acquire((error, client, done) => {
      if (!error || !isWithoutRoom(error)) return callback(error, client, done)
      this.#refusal = { error, until: performance.now() + askAgainAfter }
      this.emit('no-room', error)
      if (this.#usable === 0) return callback(error, client, done)
      this.#makeDo()
      super.acquire(callback)
    })
  }

  #makeDo(): void {
    if (this.#limit.max < this.#most) return
    this.#limit.max = this.#usable
    setTimeout(() => (this.#limit.max = this.#most), growAgainAfter).unref()
  }
}
