/** What the sender of webhooks is asked to do. */
export type Question =
  /** Sends so many webhooks a second from now on; 0 ends that, and is answered when none is under way any more. */
  | { kind: 'send'; rate: number }
  /** What was sent since the last report. */
  | { kind: 'report' }
  /** Compares what was acknowledged with what is in a database. */
  | { kind: 'check'; databaseUrl: string; handled: boolean }

export interface SenderParameters {
  port: number
  connections: number
  secret: string
  /** The length of a body. */
  bytes: number
}

export interface Report {
  /** Since the beginning. */
  readonly sent: number
  readonly acknowledged: number
  /** By status, or `broken` for a connection that ended before the answer. */
  readonly refused: Readonly<Record<string, number>>
  /** Of this report, in milliseconds from when a request was due; null when none was answered. */
  readonly p50: number | null
  readonly p99: number | null
}

export interface Checked {
  readonly acknowledged: number
  /** Acknowledged webhooks that are no event, or have no effect. */
  readonly lostEvents: number
  readonly lostEffects: number
  /** Further events, or effects, of a webhook that has one. */
  readonly doubledEvents: number
  readonly doubledEffects: number
  /** The lowest numbers of what was lost. */
  readonly examples: readonly number[]
}

/** The id of a webhook by its number. */
export const idOf = (number: number): string => `outage-${number}`

/** @throws Error when it is no such id. */
export function numberOf(id: string): number {
  const number = Number(/^outage-(\d+)$/.exec(id)?.[1])
  if (!Number.isInteger(number)) throw new Error(`nobody sent ${id}`)
  return number
}
