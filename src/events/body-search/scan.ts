import type { EventRow } from '../store.ts'
import type { BodyQuery } from './body-query.ts'

/** One step of a search: the newest events below a number. */
export interface Step {
  query: BodyQuery
  /** SQL conditions on `e`, without the body, with their parameters. */
  conditions: { text: string; parameters: readonly (string | number)[] }
  /** Only events below this number. */
  before: number
  /** Events of the step. */
  rows: number
}

export type Match = EventRow & { excerpt: string }

export interface Scanned {
  matches: Match[]
  /** Events that were read. */
  scanned: number
  /** The last number that was read; undefined at the end of the log. */
  through: number | undefined
  /** The newest and the oldest time of the events of the step; null without events. */
  newest: number | null
  oldest: number | null
}

/** Reads the bodies of events, outside of the main thread or in short statements. */
export interface BodyScanner {
  scan(step: Step): Promise<Scanned>
  close(): Promise<void>
}
