import { longestRetryAfter, nextDelay } from '../../runtime/retry-schedule.ts'
import type { Random } from '../../runtime/clock.ts'
import type { AttemptResult } from './attempt.ts'

/** What an attempt means for its delivery. `disable` is the reason for which the subscriber is to be disabled as well. */
export type AttemptOutcome =
  | { kind: 'delivered'; disable?: string }
  /** @property delay milliseconds */
  | { kind: 'retry'; delay: number }
  /** Dead-lettered: no further attempt follows. */
  | { kind: 'dead'; disable?: string }

/**
 * A 2xx response whose body ended in time is a success. A 410 response dead-letters the delivery and disables the subscriber
 * (Standard Webhooks: "the sender should disable the endpoint"); so does `webhook-delivery: disable`. `abort-message`
 * dead-letters the delivery. Everything else is retried until the schedule ends.
 * @param begun attempts since the delivery was created or last replayed, this one included
 * @param plannedIn milliseconds until the schedule's next attempt, if somebody asked for this one before: it uses up no entry
 */
export function evaluateAttempt(
  result: AttemptResult,
  schedule: readonly number[],
  begun: number,
  random: Random,
  plannedIn?: number,
): AttemptOutcome {
  const { status, error, directive } = result
  const disable = disableReason(result)
  if (error === null && status !== null && status >= 200 && status <= 299)
    return { kind: 'delivered', ...disable }
  if (disable || directive === 'abort-message') return { kind: 'dead', ...disable }
  if (plannedIn !== undefined)
    return {
      kind: 'retry',
      delay: Math.max(0, plannedIn, Math.min(result.retryAfter ?? 0, longestRetryAfter)),
    }
  const delay = nextDelay(schedule, begun, random, result.retryAfter)
  return delay === undefined ? { kind: 'dead' } : { kind: 'retry', delay }
}

function disableReason({ status, directive }: AttemptResult): { disable: string } | undefined {
  if (directive === 'disable') return { disable: 'The subscriber answered with webhook-delivery: disable.' }
  return status === 410 ? { disable: 'The endpoint returned HTTP 410 Gone.' } : undefined
}
