import type { KeyValue } from '../paging/cursor-values.ts'
import { readDecimal } from '../paging/decimal.ts'
import { canonicalTime, InvalidTime, restorePlus } from '../paging/time.ts'
import { isStorableText } from '../storage/text.ts'
import type { ValuePosition } from './value-position.ts'

export function readText(text: string): ValuePosition {
  return isStorableText(text) ? { at: text } : undefined
}

export function readNumber(text: string): ValuePosition {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

/** Rounds to four bytes: the 0.1 of a `real` column is not the 0.1 of a double. */
export function readReal(text: string): ValuePosition {
  const position = readNumber(text)
  if (!position || !('at' in position)) return position
  const number = Math.fround(position.at as number)
  return Number.isFinite(number) ? { at: number } : { beyond: number > 0 ? 'above' : 'below' }
}

export function readInteger(text: string): ValuePosition {
  const number = readDecimal(text)
  if (number === undefined) return undefined
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return { beyond: number > 0 ? 'above' : 'below' }
  return Number.isInteger(number) ? { at: number } : { between: [Math.floor(number), Math.ceil(number)] }
}

const [lowestBigint, highestBigint] = [-(2n ** 63n), 2n ** 63n - 1n]

export function readBigint(text: string): ValuePosition {
  const digits = text.trim()
  if (!/^[+-]?\d{1,400}$/.test(digits)) {
    const position = readInteger(text)
    if (position && 'at' in position) return { at: String(position.at) }
    return position && 'between' in position
      ? { between: [String(position.between[0]), String(position.between[1])] }
      : position
  }
  const number = BigInt(digits.replace(/^\+/, ''))
  if (number > highestBigint) return { beyond: 'above' }
  if (number < lowestBigint) return { beyond: 'below' }
  return { at: String(number) }
}

/** Keeps the text, so that no digit is lost. A number beyond the range of a double lies above or below all values. */
export function readNumeric(text: string): ValuePosition {
  const position = readNumber(text)
  if (!position || !('at' in position)) return position
  return position.at === 0 || text.length > 400 ? position : { at: text.trim() }
}

export function readTime(text: string, shape: (canonical: string) => KeyValue): ValuePosition {
  try {
    return { at: shape(canonicalTime(restorePlus(text))) }
  } catch (error) {
    if (error instanceof InvalidTime) return undefined
    throw error
  }
}

export function readMilliseconds(text: string): ValuePosition {
  const position = readTime(text, (canonical) => canonical)
  if (!position || !('at' in position)) return position
  const canonical = String(position.at)
  const before = Date.parse(`${canonical.slice(0, 23)}Z`)
  return canonical.endsWith('000Z') ? { at: before } : { between: [before, before + 1] }
}
