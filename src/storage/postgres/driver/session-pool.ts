import pg, { type PoolClient, type PoolConfig } from 'pg'
import { isWithoutRoom } from '../../unavailable.ts'
import { ServerMoved } from './session-client.ts'

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void

export interface SessionPoolConfig extends PoolConfig {
  max: number
  /** Whether a connection may still be used. Others are closed. */
  isCurrent: (client: PoolClient) => boolean
}

/** Milliseconds without new attempts after the server refused a connection: of a pool without any, and of one that has some. */
const retryAfter = 500
const growAfter = 5_000

/**
 * A pool that connects again if the server has moved, and closes connections that are outdated. While the server has no room
 * for more connections, callers wait for those that the pool has; the pool then emits `no-room` with the error.
 */
export class SessionPool extends pg.Pool {
  readonly #isCurrent: SessionPoolConfig['isCurrent']
  readonly #most: number
  /** The options of the pool, which pg's types hide. */
  readonly #limit: { max: number }
  #open = 0
  #refusal: { error: Error; until: number } | undefined

  constructor(config: SessionPoolConfig) {
    super(config)
    this.#isCurrent = config.isCurrent
    this.#most = config.max
    this.#limit = (this as unknown as { options: { max: number } }).options
    this.on('connect', () => (this.#open += 1))
    this.on('remove', () => (this.#open -= 1))
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback) return this.#acquire(callback)
    return new Promise((resolve, reject) => {
      this.#acquire((error, client) => (error ? reject(error) : resolve(client!)))
    })
  }

  #acquire(callback: Connected): void {
    if (this.#refusal && this.#open === 0 && performance.now() < this.#refusal.until) {
      const { error } = this.#refusal
      return process.nextTick(() => callback(error, undefined, () => undefined))
    }
    this.#connectCurrent((error, client, release) => {
      if (!error || !isWithoutRoom(error)) return callback(error, client, release)
      this.#refusal = { error, until: performance.now() + retryAfter }
      this.emit('no-room', error)
      if (this.#open === 0) return callback(error, client, release)
      this.#stopGrowing()
      this.#connectCurrent(callback)
    })
  }

  #connectCurrent(callback: Connected): void {
    super.connect((error, client, release) => {
      if (error instanceof ServerMoved) super.connect(callback)
      else if (client && !this.#isCurrent(client)) {
        release(true)
        this.#acquire(callback)
      } else callback(error, client, release)
    })
  }

  #stopGrowing(): void {
    if (this.#limit.max < this.#most) return
    this.#limit.max = this.#open
    setTimeout(() => (this.#limit.max = this.#most), growAfter).unref()
  }
}
