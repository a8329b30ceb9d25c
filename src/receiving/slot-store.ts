import type { Bound } from './plan.ts'

/** A request for slots of one handler. */
export interface SlotsAsked extends Bound {
  /** Slots that it may be using until the answer. */
  readonly keeps: number
  /** Slots that it has work for. */
  readonly wants: number
  /** When others may take its slots, unless it asks again before that. Milliseconds since 1970. */
  readonly until: number
}

export interface SlotsShared {
  readonly key: string
  /** Slots that this process has. */
  readonly held: number
  /** How many of them it may use from now on: fewer than it holds while another process waits for slots. */
  readonly share: number
  /** Whether slots were given back that another process waits for. */
  readonly freed: boolean
}

/** The slots of all processes. */
export interface SlotStore {
  /**
   * Changes what this process has of some handlers' slots. Returns nothing about a process that others consider dead.
   * @throws StorageUnavailable
   */
  share(asked: readonly SlotsAsked[], now: number): Promise<readonly SlotsShared[]>
}
