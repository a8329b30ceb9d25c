/** What a person chose on the page of users, as it is in the address. */
export interface UserSearch {
  q?: string
  role?: string
  /** `yes` or `no`; the router would read `true` as a boolean. */
  blocked?: string
  provider?: string
  /** One of `seenChoices`. */
  seen?: string
  sort?: string
  page?: string
}

const day = 86_400_000

/** Days since the last use: `seen` within them, `not` for longer. */
const seenRules: Record<string, { within: boolean; days: number }> = {
  '1d': { within: true, days: 1 },
  '7d': { within: true, days: 7 },
  '30d': { within: true, days: 30 },
  'not-30d': { within: false, days: 30 },
  'not-90d': { within: false, days: 90 },
}

export const seenChoices = [
  { value: '', label: 'Any time' },
  { value: '1d', label: 'In the last 24 hours' },
  { value: '7d', label: 'In the last 7 days' },
  { value: '30d', label: 'In the last 30 days' },
  { value: 'not-30d', label: 'Not for 30 days' },
  { value: 'not-90d', label: 'Not for 90 days' },
]

/** The parameters that select users. Times are whole hours, so that the same choice is the same query for a while. */
export function userFilters({ q, role, blocked, provider, seen, sort = '-id' }: UserSearch) {
  const rule = seen === undefined ? undefined : seenRules[seen]
  const hour = 3_600_000
  const time = rule && new Date(Math.ceil(Date.now() / hour) * hour - rule.days * day).toISOString()
  return {
    sort,
    ...(q && { q }),
    ...(role && { role }),
    ...(blocked && { blocked: blocked === 'yes' ? 'true' : 'false' }),
    ...(provider && { provider }),
    ...(rule?.within && { lastSeenSince: time }),
    ...(rule?.within === false && { lastSeenUntil: time }),
  }
}
