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
