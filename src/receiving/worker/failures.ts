import { inspect } from 'node:util'
import { endStackAtHandler } from '../../telemetry/log.ts'
import type { Random } from '../../runtime/clock.ts'
import type { Tx } from '../../storage/database.ts'
import { longestRetryAfter, nextDelay } from '../../runtime/retry-schedule.ts'
import { advance, orderKeysOf, type ClaimedEvent } from '../queue/store.ts'
import { EventLoop } from '../../telemetry/propagation.ts'
import { InvalidPayload } from '../handlers/declared-handlers.ts'
import { askedToWait } from '../forward.ts'
import type { FailureGroups, Fingerprint } from '../failure-groups/tally.ts'
import { ownWork } from './timing.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Bytes of an error's text that are stored. */
const longestError = 8 * 1024

/** A failed attempt. Times in milliseconds since 1970. */
export interface Failure {
  claimed: ClaimedEvent
  error: unknown
  startedAt: number
  now: number
  /** The id of the handler that failed. */
  handler: string
}

export interface FailureParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  random: Random
  failureGroups: Pick<FailureGroups, 'enter' | 'count'>
  /** Called for each recorded failure of a handler. */
  onFailed?: ((handler: string) => void) | undefined
}

/** How often the process may end while it runs only this event. Then the event is `failed`. */
export const mostCrashes = 3
/** The minimum time between two of these runs, in milliseconds, regardless of the schedule. */
const leastPause = 1_000

/** The process ended while it ran the event alone. */
export class ProcessEnded extends Error {
  constructor(crashes: number, handlers: string) {
    const advice =
      crashes < mostCrashes
        ? ''
        : '\nThe event is not tried again. Find what ends the process (process.exit, memory, native code), then reprocess the event.'
    super(
      `the process ended while handler ${handlers} was running this event alone: ${crashes} of ${mostCrashes} times${advice}`,
    )
    this.name = 'ProcessEnded'
    // The location in the code is unrelated to the cause.
    this.stack = `${this.name}: ${this.message}`
  }
}

/**
 * Records a failed attempt and schedules the next one; after the last entry of the schedule, and at once for an invalid payload or at
 * the end of the longest chain of events, the event is `failed`. A run that somebody asked for before its time uses up no entry. An end of the process uses up none, but the third one fails the event, and until then the waits are those of the schedule. `lost`
 * if another claim holds the event: then nothing is written.
 */
export async function recordFailure(
  { database, schedule, random, failureGroups }: FailureParts,
  { claimed, error, startedAt, now, handler }: Failure,
): Promise<'retry' | 'failed' | 'lost'> {
  const { event, attempts, attemptsBefore } = claimed
  let group: Fingerprint | undefined
  const outcome = await database.transaction(async (tx) => {
    const held = await endClaim(tx, claimed, error)
    group = undefined
    if (!held) return 'lost'
    const crashes = held.crashes ?? 0
    const plannedIn = plannedAfter(error, held.planned_at, { startedAt, now })
    const extra = (held.extra_attempts ?? 0) + (plannedIn === undefined ? 0 : 1)
    await tx
      .insertInto('handler_failures')
      .values({
        event,
        number: attempts,
        at: startedAt,
        duration_ms: Math.max(0, now - startedAt),
        error: storedError(error),
      })
      .execute()
    const { failures } = await tx
      .selectFrom('handler_failures')
      .select((eb) => eb.fn.countAll<number>().as('failures'))
      .where('event', '=', event)
      .where('number', '>', attemptsBefore)
      .executeTakeFirstOrThrow()
    const counts = { failures: failures - crashes - extra, crashes }
    const delay = plannedIn ?? delayAfter(error, counts, { schedule, random })
    const next = delay === undefined ? ({ status: 'failed' } as const) : { due_at: now + delay }
    group = await failureGroups.enter(tx, handler, error, now)
    await tx
      .updateTable('event_queue')
      .set({
        ...next,
        failed_at: startedAt,
        failure_group: group.id,
        planned_at: null,
        extra_attempts: extra || null,
      })
      .where('event', '=', event)
      .execute()
    if (delay !== undefined) return 'retry'
    await advance(database.engine, tx, orderKeysOf([claimed]))
    return 'failed'
  }, ownWork)
  if (group) failureGroups.count(group, now)
  return outcome
}

/** Ends the claim, and counts the attempt. Returns undefined if another claim holds the event. */
function endClaim(tx: Tx, { event, claim, attempts }: ClaimedEvent, error: unknown) {
  return tx
    .updateTable('event_queue')
    .set((eb) => ({
      claim: null,
      leased_until: null,
      alone_at: null,
      attempts,
      // A suspect that finishes is cleared, unless it has ended a process before.
      crashes:
        error instanceof ProcessEnded ? eb('crashes', '+', 1) : eb.fn('nullif', ['crashes', eb.lit(0)]),
    }))
    .where('event', '=', event)
    .where('claim', '=', claim)
    .where('status', '=', 'pending')
    .returning(['crashes', 'planned_at', 'extra_attempts'])
    .executeTakeFirst()
}

/** Milliseconds until the planned attempt, if somebody asked for this one before it; undefined if this one was that of the schedule. */
function plannedAfter(
  error: unknown,
  plannedAt: number | null,
  { startedAt, now }: Pick<Failure, 'startedAt' | 'now'>,
): number | undefined {
  if (plannedAt === null || plannedAt <= startedAt) return undefined
  // These failures decide about the event themselves.
  if (error instanceof ProcessEnded || isFinal(error)) return undefined
  return Math.max(0, plannedAt - now, Math.min(askedToWait(error) ?? 0, longestRetryAfter))
}

/** Whether every other attempt would fail in the same way. */
function isFinal(error: unknown): boolean {
  return error instanceof InvalidPayload || error instanceof EventLoop
}

/** Milliseconds until the next attempt; undefined without one. */
function delayAfter(
  error: unknown,
  { failures, crashes }: { failures: number; crashes: number },
  { schedule, random }: Pick<FailureParts, 'schedule' | 'random'>,
): number | undefined {
  if (isFinal(error)) return undefined
  if (!(error instanceof ProcessEnded)) return nextDelay(schedule, failures, random, askedToWait(error))
  if (crashes >= mostCrashes) return undefined
  const entry = Math.min(failures + crashes, schedule.length - 1)
  return Math.max(leastPause, nextDelay(schedule, entry, random) ?? 0)
}

/** The error with its stack, which ends at the handler, and its causes, as a text that both engines can store. */
export function storedError(error: unknown): string {
  const text = endStackAtHandler(shown(error)).replaceAll('\0', '').toWellFormed()
  if (Buffer.byteLength(text) <= longestError) return text
  // Removes a character that was cut in two.
  return (
    new TextDecoder().decode(Buffer.from(text).subarray(0, longestError - 4)).replace(/\uFFFD$/, '') + '…'
  )
}

function shown(error: unknown): string {
  const options = { depth: 4, breakLength: 110, maxStringLength: longestError }
  try {
    return inspect(error, options)
  } catch {
    // A class may have a method of its own for this, which throws.
    return inspect(error, { ...options, customInspect: false })
  }
}
