// Where Postern's answers differ from those of Svix's server, and why. calls.test.ts fails on any other difference, and on an entry without a difference.

/** A difference between two responses to one request. */
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
    at: /^body\.detail(\.\*\.msg)?$/,
    reason: 'Postern has its own messages, which say more, such as which uid exists. The code is the same.',
  },
  {
    at: /^body\.detail\.\*\.type$/,
    reason:
      'Theirs tells faults that its parser finds from those that a later check finds; ours checks some at another time.',
  },
  {
    call: /^POST \/app (\[1\]|.*"throttleRate":70000)/,
    at: /loc/,
    reason: 'Its parser reads an array as the fields of a structure, and checks the size of numbers.',
  },
  {
    call: /"(featureFlags|eventId)":.*"not allowed!"/,
    at: /loc/,
    reason: 'Ours names the field of the body; theirs the place in the parser, or the column.',
  },
  {
    call: /^GET \/unknown/,
    reason: 'An unknown path is answered in the form of an error, which the libraries can read.',
  },
  { call: /^POST \/health/, reason: 'Postern answers 404 to methods that a path does not have.' },
  { at: /featureFlags$/, reason: 'Libraries 2.x read `featureFlags`; the answer has both.' },
  { call: /\/msg\/\S+\/endpoint$/, at: /metadata/, reason: 'Ours has the metadata of an endpoint here too.' },
  { call: /event-type\?order=descending/, reason: 'Theirs ignores the order.' },
  {
    call: /secret\/rotate/,
    at: /^status$/,
    reason: 'The libraries for Python and Rust want the key, and throw at an empty response.',
  },
  {
    call: /"host":"x"/,
    at: /^status$/,
    reason:
      'Postern rejects headers that the request itself needs; theirs accepts them, and the request fails.',
  },
  { at: /^body\.headers\.host$/, reason: 'Postern rejected the header.' },
  { call: /msg\?after=2020/, reason: 'Theirs reads only the 90 days after that time.' },
  {
    call: /\{off\}\/resend/,
    reason: 'Postern rejects resending to a disabled endpoint; theirs accepts it and sends nothing.',
  },
  { call: /auth\/logout/, at: /^status$/, reason: 'Theirs does not implement it; Postern ends the token.' },
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
