/** A secret that is valid for a limited time. Times are dates, or ISO 8601 texts. */
export interface TimedSecret {
  secret: string
  /** The first moment at which it is valid. */
  from?: Date | string
  /** The first moment at which it is no longer valid. */
  until?: Date | string
}

/** `undefined` is the value of an environment variable that is not set. */
export type Secret = string | readonly (string | TimedSecret)[] | undefined

/** One secret and the time for which it is valid, in milliseconds since 1970. */
export interface ParsedSecret {
  readonly value: string
  readonly from: number
  readonly until: number
}

/**
 * Returns the single secrets: a string is split at commas, entries of an array are not. Empty ones are left out.
 * @throws TypeError if `from` or `until` is not a date.
 */
export function readSecrets(secret: Secret): ParsedSecret[] {
  const given = typeof secret === 'string' ? secret.split(',').map((part) => part.trim()) : (secret ?? [])
  return given
    .map((one) => (typeof one === 'string' ? { secret: one } : one))
    .filter((one) => one.secret !== '')
    .map(({ secret: value, from, until }) => ({
      value,
      from: readMoment(from, -Infinity),
      until: readMoment(until, Infinity),
    }))
}

function readMoment(moment: Date | string | undefined, otherwise: number): number {
  if (moment === undefined) return otherwise
  const read = new Date(moment).getTime()
  if (Number.isNaN(read)) throw new TypeError('from and until of a secret are dates, or texts of ISO 8601')
  return read
}
