import type { Bound } from '../handlers/plan.ts'

/** A request for slots of one handler. */
export interface SlotRequest extends Bound {
  /** The slots that it may use until the response. */
  readonly keeps: number
  /** The slots that it has work for. */
  readonly wants: number
  /** When its slots expire unless it requests them again, in milliseconds since 1970. */
  readonly until: number
}

export interface SlotsShared {
  readonly key: string
  /** Slots that this process has. */
  readonly held: number
  /** How many of them it may use from now on: fewer than it holds if another process waits for slots. */
  readonly share: number
  /** Whether slots were released that another process waits for. */
  readonly freed: boolean
}

/** The slots of all processes. */
export interface SlotStore {
  /**
   * Changes the slots of this process for some handlers. Returns an empty list if others consider this process dead.
   * @throws StorageUnavailable
   */
  share(asked: readonly SlotRequest[], now: number): Promise<readonly SlotsShared[]>
}
