/** What the load generator is asked to do. All requests are made before the clock starts. */
export interface Load {
  port: number
  connections: number
  requests: Webhooks | Emits | Gets
}

/** Signed webhooks to POST /webhooks/provider, every one with an event id of its own. */
export interface Webhooks {
  kind: 'webhooks'
  count: number
  /** The event ids are this, a hyphen and a number. */
  prefix: string
  secret: string
  /** The body's length. */
  bytes: number
}

/** Events for POST /events or, as an application's messages, for Svix's API. */
export interface Emits {
  kind: 'emits'
  /** The audience. Default: subscribers without an owner. */
  owner?: string
  throughSvix?: boolean
  count: number
  prefix: string
  bytes: number
  apiKey: string
}

/** GETs of the paths in turn. */
export interface Gets {
  kind: 'gets'
  count: number
  paths: readonly string[]
  headers: Readonly<Record<string, string>>
  /** Of the requests in turn. */
  cookies?: readonly string[]
}

export interface LoadResult {
  perSecond: number
  seconds: number
  /** Milliseconds from the request's write to the last byte of its response. */
  p50: number
  p99: number
  statuses: Record<string, number>
  /** The share of one core that the generator used: near 1, it is the generator that was measured. */
  generatorCpu: number
}
