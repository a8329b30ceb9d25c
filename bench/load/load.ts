import { startHelper, type Helper } from '../harness/processes.ts'

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
}

/** Events for POST /events or, as an application's messages, for Svix's API. */
export interface Emits {
  kind: 'emits'
  /** The audience. Default: subscribers without an owner. */
  owner?: string
  throughSvix?: boolean
  count: number
  prefix: string
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

export type Generator = Helper<object, Load, LoadResult>

/** Starts the process that makes load. */
export function startGenerator(): Promise<Generator> {
  return startHelper('load/generator.ts')
}

/**
 * Makes load, and insists that every request got the status.
 * @throws Error when one did not
 */
export async function generate(generator: Generator, load: Load, status: number): Promise<LoadResult> {
  const result = await generator.ask(load)
  if (result.statuses[String(status)] !== load.requests.count) {
    throw new Error(
      `${load.requests.kind}: not all answers were ${status}: ${JSON.stringify(result.statuses)}`,
    )
  }
  return result
}
