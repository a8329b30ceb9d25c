import type { Random } from '../clock.ts'
import type { AttemptResult } from './attempt.ts'
import { nextDelay } from '../network/retry.ts'

/** What follows from an attempt. */
export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'retry'; delay: number }
  /** Given up; `gone` when the subscriber said that it wants nothing any more. */
  | { kind: 'dead'; gone: boolean }

/**
 * 2xx with a body that ended in time is a delivery. 410 ends everything
 * (Standard Webhooks: "the sender should disable the endpoint"). All else is tried again while the schedule lasts.
 */
export function judge(
  result: AttemptResult,
  schedule: readonly number[],
  begun: number,
  random: Random,
): Verdict {
  const { status, error } = result
  if (error === null && status !== null && status >= 200 && status <= 299) return { kind: 'delivered' }
  if (status === 410) return { kind: 'dead', gone: true }
  const delay = nextDelay(schedule, begun, random, result.retryAfter)
  return delay === undefined ? { kind: 'dead', gone: false } : { kind: 'retry', delay }
}
