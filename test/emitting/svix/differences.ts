// Where Postern's answers differ from those of Svix's server, and why. calls.test.ts fails on any other difference, and on one that is gone.

/** What two answers to one call do not share. */
export interface Difference {
  call: string
  /** The status, or a field of the body: `status`, `body.data.*.uid`. */
  at: string
  theirs: unknown
  ours: unknown
}

interface Accepted {
  call?: RegExp
  at?: RegExp
  reason: string
}

export const accepted: readonly Accepted[] = [
  {
    at: /^body\.detail\.\*\.msg$/,
    reason:
      'The text for people is that of our own validation; theirs comes from the parser of its language.',
  },
  {
    call: /^GET \/unknown/,
    reason: 'An unknown path is answered in the form of an error, which the libraries can read.',
  },
  {
    call: /event-type/,
    at: /^body\.(data\.\*\.)?featureFlags$/,
    reason:
      'Libraries 2.x read `featureFlags`, the server and libraries 1.x `featureFlag`: an answer has both.',
  },
  {
    call: /^GET \/event-type\?order=descending/,
    reason: 'The libraries let a caller choose the order of event types. The server ignores it.',
  },
  {
    call: /^POST \/event-type .*bad\.schema/,
    at: /\.type$/,
    reason: 'A schema is checked after the body is read, so its fault has the type of other values.',
  },
  { call: /^POST \/health/, reason: 'Postern answers 404 to all methods that a path does not have.' },
]

/** The entries of `accepted` that explain a difference. */
export const explaining = ({ call, at }: Difference): Accepted[] =>
  accepted.filter((one) => (one.call?.test(call) ?? true) && (one.at?.test(at) ?? true))

/** All differences of two values. A field with `null` is the same as no field: no library tells them apart. */
export function* differencesOf(
  theirs: unknown,
  ours: unknown,
  at = 'body',
): Generator<Omit<Difference, 'call'>> {
  if (isObject(theirs) && isObject(ours)) {
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours)]))
      yield* differencesOf(theirs[key] ?? null, ours[key] ?? null, `${at}.${key}`)
  } else if (Array.isArray(theirs) && Array.isArray(ours) && theirs.length === ours.length) {
    for (const [index, item] of theirs.entries()) yield* differencesOf(item, ours[index], `${at}.*`)
  } else if (JSON.stringify(theirs) !== JSON.stringify(ours)) yield { at, theirs, ours }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
