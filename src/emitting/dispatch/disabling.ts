import { isoTime } from '../../runtime/iso-time.ts'
const day = 86_400_000

/** When subscribers are disabled because all their deliveries fail. */
export interface DisablingPolicy {
  /** Milliseconds without a success; Infinity never disables. */
  after: number
}

/** The state of a failing subscriber; times in milliseconds since 1970. */
export interface Failing {
  failingSince: number | null
  warnedAt: number | null
}

/** The shortest time between the warning and the disabling: a day, or half of a shorter `after`. */
function notice({ after }: DisablingPolicy): number {
  return Math.min(day, after / 2)
}

/** When the next failure disables the subscriber; `null` while it does not fail. At least the notice after the warning. */
export function disablesAt({ failingSince, warnedAt }: Failing, policy: DisablingPolicy): number | null {
  if (failingSince === null || policy.after === Infinity) return null
  const at = failingSince + policy.after
  return warnedAt === null ? at : Math.max(at, warnedAt + notice(policy))
}

/** Returns the consequence of an attempt that fails at `now`. Subscribers are only disabled by failures, never by time alone. */
export function consequenceOf(
  failing: Failing,
  policy: DisablingPolicy,
  now: number,
): 'warn' | 'disable' | undefined {
  const at = disablesAt(failing, policy)
  if (at === null) return undefined
  if (failing.warnedAt === null) return now >= at - notice(policy) ? 'warn' : undefined
  return now >= at ? 'disable' : undefined
}

/** The reason that the API shows. */
export function reasonOfFailing(failingSince: number): string {
  return `Every attempt since ${isoTime(failingSince)} failed.`
}
