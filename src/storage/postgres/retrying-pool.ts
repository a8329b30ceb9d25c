import pg, { type PoolClient, type PoolConfig } from 'pg'
import { ServerMoved } from './locator.ts'

export type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void

export interface RenewedPoolConfig extends PoolConfig {
  /** Whether a connection may be handed out; one that may not is closed. */
  isCurrent: (client: PoolClient) => boolean
}

/** A pool that connects once more where the server that it knew is gone, or is not what is wanted any more. */
export class RetryingPool extends pg.Pool {
  readonly #isCurrent: RenewedPoolConfig['isCurrent']

  constructor(config: RenewedPoolConfig) {
    super(config)
    this.#isCurrent = config.isCurrent
  }

  override connect(): Promise<PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback) return this.acquire(callback)
    return new Promise((resolve, reject) => {
      this.acquire((error, client) => (error ? reject(error) : resolve(client!)))
    })
  }

  /** What all ways to ask for a connection come down to. */
  protected acquire(callback: Connected): void {
    super.connect((error, client, release) => {
      if (error instanceof ServerMoved) super.connect(callback)
      else if (client && !this.#isCurrent(client)) {
        release(true)
        this.acquire(callback)
      } else callback(error, client, release)
    })
  }
}
