import type { Random } from '../runtime/clock.ts'
import type { AttemptResult } from './attempt.ts'
import { nextDelay } from '../network/retry.ts'

/** What follows from an attempt. */
export type AttemptOutcome =
  | { kind: 'delivered'; disable?: string }
  | { kind: 'retry'; delay: number }
  /** Given up. `disable` is the reason when the subscriber said that it wants nothing any more. */
  | { kind: 'dead'; disable?: string }

/**
 * 2xx with a body that ended in time is a delivery. 410 ends everything (Standard Webhooks: "the sender should disable the
 * endpoint"), and so does `webhook-delivery: disable`; `abort-message` ends this delivery. All else is tried again while
 * the schedule lasts.
 */
export function evaluateAttempt(
  result: AttemptResult,
  schedule: readonly number[],
  begun: number,
  random: Random,
): AttemptOutcome {
  const { status, error, directive } = result
  const disable =
    directive === 'disable'
      ? { disable: 'The subscriber answered with webhook-delivery: disable.' }
      : status === 410
        ? { disable: 'The subscriber answered 410 Gone.' }
        : undefined
  if (error === null && status !== null && status >= 200 && status <= 299)
    return { kind: 'delivered', ...disable }
  if (disable || directive === 'abort-message') return { kind: 'dead', ...disable }
  const delay = nextDelay(schedule, begun, random, result.retryAfter)
  return delay === undefined ? { kind: 'dead' } : { kind: 'retry', delay }
}
