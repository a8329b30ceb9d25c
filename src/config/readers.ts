/** Variables, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Parses the text of a setting. @throws Error that says what was expected, without the value: it may be a secret. */
export type Reader<T> = (text: string) => T

export const text: Reader<string> = (value) => value

export const list: Reader<string[]> = (value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** A text of at most `most` characters in one line. */
export function line(most: number): Reader<string> {
  return (value) => {
    // oxlint-disable-next-line no-control-regex -- it matches control characters
    if (value.length > most || /[\u0000-\u001f\u007f]/.test(value))
      throw new Error(`expected one line of at most ${most} characters`)
    return value
  }
}

/** A colour as `#rrggbb`. */
export const color: Reader<string> = (value) => {
  if (!/^#[\da-f]{6}$/i.test(value)) throw new Error('expected a colour such as #1f6f5c')
  return value.toLowerCase()
}

/** Comma-separated values without spaces, because a space separates them in requests. */
export const words: Reader<string[]> = (value) =>
  list(value).map((item) => {
    if (/\s/.test(item)) throw new Error('expected values without spaces, comma-separated')
    return item
  })

export const flag: Reader<boolean> = (value) => {
  if (/^(true|on|yes|1)$/i.test(value)) return true
  if (/^(false|off|no|0)$/i.test(value)) return false
  throw new Error('expected on or off, or true or false')
}

export function integer(least: number, most: number): Reader<number> {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most))
      throw new Error(`expected a whole number from ${least} to ${most}`)
    return number
  }
}

/** Parses seconds. Returns milliseconds. */
export function seconds(least: number, most: number): Reader<number> {
  return (value) => {
    const number = /^\d{1,12}(\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw new Error(`expected seconds from ${least} to ${most}`)
    return Math.round(number * 1000)
  }
}

/** Parses whole days. Returns milliseconds; Infinity for `off` and 0. */
export const days: Reader<number> = (value) => {
  if (/^off$/i.test(value)) return Infinity
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
  if (!(number <= 36_500)) throw new Error('expected a whole number of days up to 36500, or off')
  return number === 0 ? Infinity : number * 86_400_000
}

/** Parses seconds such as `0,5,300`. Returns milliseconds; 1 to 50 entries of at most 30 days each. */
export const schedule: Reader<number[]> = (value) => {
  const entries = list(value)
  if (entries.length === 0 || entries.length > 50)
    throw new Error('expected 1 to 50 comma-separated numbers of seconds')
  return entries.map(seconds(0, 30 * 86_400))
}

export function oneOf<T extends string>(...values: T[]): Reader<T> {
  return (value) => {
    const found = values.find((candidate) => candidate === value)
    if (found === undefined) throw new Error(`expected one of ${values.join(', ')}`)
    return found
  }
}

export function secret(least: number): Reader<string> {
  return (value) => {
    if (Buffer.byteLength(value) < least) throw new Error(`expected ${least} bytes or more`)
    return value
  }
}

/** Comma-separated secrets, newest first. */
export function secrets(least: number): Reader<string[]> {
  return (value) => {
    const found = list(value)
    if (found.length === 0) throw new Error('expected a secret')
    return found.map(secret(least))
  }
}

export const identities: Reader<{ provider: string; providerId: string }[]> = (value) =>
  list(value).map((item) => {
    const colon = item.indexOf(':')
    if (colon < 1 || colon === item.length - 1)
      throw new Error('expected provider:providerId, comma-separated')
    return { provider: item.slice(0, colon).toLowerCase(), providerId: item.slice(colon + 1) }
  })

/** Secrets of Standard Webhooks, comma-separated: `whsec_` and the base64 of 24 to 64 bytes. */
export const signingSecrets: Reader<Buffer[]> = (value) => {
  const found = list(value).map((item) => {
    const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(item)?.[1] ?? ''
    const key = Buffer.from(base64, 'base64')
    // Node's decoder skips invalid characters: encoding the result again detects them.
    if (key.toString('base64') !== base64 || key.length < 24 || key.length > 64)
      throw new Error('expected whsec_ and the base64 of 24 to 64 bytes, comma-separated')
    return key
  })
  if (found.length === 0) throw new Error('expected a secret')
  return found
}
