/** A secret that verifies only for a time. Dates, or texts that name one in ISO 8601. */
export interface TimedSecret {
  secret: string
  /** The first moment at which it verifies. */
  from?: Date | string
  /** The moment from which it does not verify any more. */
  until?: Date | string
}

/** `undefined` stands for an environment variable that is not set. */
export type Secret = string | readonly (string | TimedSecret)[] | undefined

/** One secret with the time in which it verifies, in milliseconds since 1970. */
export interface KeptSecret {
  readonly value: string
  readonly from: number
  readonly until: number
}

/**
 * The single secrets: a string is split at its commas, an array's entries are taken as they are. Empty ones are left out.
 * @throws TypeError when the beginning or end of a secret's time is no date.
 */
export function readSecrets(secret: Secret): KeptSecret[] {
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
