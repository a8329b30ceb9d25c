/** What is sent at a constant rate. */
export interface Steady {
  /** Of the services, which get a request each in turn. */
  ports: readonly number[]
  seconds: number
  /** Webhooks and emitted events a second. */
  webhooks: number
  emits: number
  /** Of the events' ids. */
  prefix: string
  /** Of each body. */
  bytes: number
  secret: string
  apiKey: string
}

export interface SteadyResult {
  webhooks: number
  emits: number
  /** Milliseconds within which 99 of 100 were answered. */
  p99: number
}
