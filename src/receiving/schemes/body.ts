import { isUtf8 } from 'node:buffer'
import { malformed, type Rejected, type Verdict } from './scheme.ts'

/** Most characters (UTF-16 units) of an event's id and of its type. */
const longest = 256

export type ReadBody = { readonly object: Record<string, unknown> } | Rejected

/** The body as a JSON object, or why it is none. The bytes are checked strictly: broken UTF-8 is not replaced. */
export function readObject(rawBody: Buffer): ReadBody {
  if (!isUtf8(rawBody)) return malformed('The body is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(rawBody.toString('utf8'))
  } catch {
    // The parser's message quotes the body, which is nobody's but the sender's.
    return malformed('The body is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return malformed('The body is not a JSON object.')
  return { object: value as Record<string, unknown> }
}

/**
 * Checks an id and a type. They become keys and are matched by handlers, so they must be texts that every engine can
 * store: neither NUL (PostgreSQL) nor half a surrogate pair (UTF-8 has no form for it).
 */
export function identify(id: unknown, type: unknown): Verdict {
  const fault = faultOf('id', id) ?? faultOf('type', type)
  return fault === undefined ? { id: id as string, type: type as string } : malformed(fault)
}

function faultOf(name: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return `The event has no \`${name}\` that is a string.`
  if (value === '') return `The event's \`${name}\` is empty.`
  if (value.length > longest) return `The event's \`${name}\` is longer than ${longest} characters.`
  if (value.includes('\0') || !value.isWellFormed())
    return `The event's \`${name}\` holds a character that cannot be stored.`
  return undefined
}
