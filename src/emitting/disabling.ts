const day = 86_400_000

/** Which subscribers are disabled because nothing arrives at them. */
export interface DisablingPolicy {
  /** Milliseconds of nothing but failures; Infinity never disables. */
  after: number
}

/** What is known of a subscriber that fails; times in milliseconds since 1970. */
export interface Failing {
  failingSince: number | null
  warnedAt: number | null
}

/** How long before it is disabled it is told at the latest: a day, or half of a shorter span. */
function notice({ after }: DisablingPolicy): number {
  return Math.min(day, after / 2)
}

/** When a failure disables it; `null` while it does not fail. Never sooner after the warning than the notice lasts. */
export function disablesAt({ failingSince, warnedAt }: Failing, policy: DisablingPolicy): number | null {
  if (failingSince === null || policy.after === Infinity) return null
  const at = failingSince + policy.after
  return warnedAt === null ? at : Math.max(at, warnedAt + notice(policy))
}

/** What follows from an attempt that fails at `now`. Without attempts nothing fails, so nothing follows from time alone. */
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

/** The reason that is kept and shown. */
export function reasonOfFailing(failingSince: number): string {
  return `Every attempt since ${new Date(failingSince).toISOString()} failed.`
}
