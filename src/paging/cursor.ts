import { hash } from 'node:crypto'
import type { Keyring } from '../crypto/keyring.ts'
import { Problem } from '../errors.ts'
import { Recent } from './recent.ts'
import { canonicalTime, InvalidTime, showTime } from './time.ts'

/** What a cursor carries of a row. Times are texts, never a Date, which would lose their microseconds. */
export type KeyValue = string | number | null

export interface CursorKey {
  /** The field's name in the list's items. */
  name: string
  /**
   * `number` is any number, `integer` one that a double holds exactly, `time` a canonical time (time.ts), which
   * stands in the cursor as it stands in the item; `any` is a text or a finite number, whichever the database gave.
   */
  type: 'text' | 'number' | 'integer' | 'time' | 'any'
  nullable?: boolean
}

/** What a cursor belongs to. It is of no use anywhere else. */
export interface CursorScope {
  /** The list's name. */
  list: string
  /** The keys of the order, the unique one last. */
  keys: readonly CursorKey[]
  /**
   * All that decides which rows come and in which order: sort, filters, whose rows may be seen. Hashed as JSON, so equal
   * queries must be written equally. The page size stays out: it may change in mid-walk.
   */
  query: unknown
}

const version = 1
const purpose = 'cursor'
/** Bytes of the scope's hash and of the truncated HMAC-SHA256 (RFC 2104, section 5, asks for at least 16). */
const hashLength = 12
const macLength = 18
/** Longest cursor that is looked at, in characters. Keys of a few hundred characters of any script fit. */
const longest = 8_192

/** Standard base64 that happens to be free of `+`, `/` and `=`; see Cursors and `toAscii`. */
const alphabet = /^[A-Za-z0-9]+$/
const signed = /^(\{.+),"\$sig":"1\.([\w-]{16})\.([\w-]{24})\.{0,2}"\}$/

/**
 * Compound cursors: the last row's key values, bound to their query and authenticated with the master key.
 *
 * The form is base64 of a JSON object: the keys by name and as the item shows them, in the order of the sort, and `$sig`,
 * which is `version.scope hash.HMAC`, the last two in base64url: `{"createdAt":"…","_id":"…","$sig":"1.….…"}`. The HMAC
 * covers version, hash and the text of the keys. The text is chosen so that its base64 has letters and digits only: up
 * to two full stops end the signature, so that the length is a multiple of three and no `=` is needed.
 */
export class Cursors {
  readonly #keyring: Keyring
  /** The last ones that were issued or found good: who walks a list passes each back at once. */
  readonly #known = new Recent<string, Known>(mostKept)
  /** The same by what they say, for pages that many ask for. */
  readonly #made = new Recent<string, string>(mostKept)

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  /** @param values one for each of the scope's keys, in their order. */
  encode(scope: CursorScope, values: readonly KeyValue[]): string {
    // One value too few would be signed as a cursor that nobody can read.
    if (values.length !== scope.keys.length || values.includes(undefined as never)) {
      throw new TypeError(`a cursor of ${scope.list} needs ${scope.keys.length} values`)
    }
    const fields = scope.keys.map(({ name, type }, index) => {
      const value = values[index]!
      const shown = type === 'time' && typeof value === 'string' ? showTime(value) : writeNumber(value)
      return `${JSON.stringify(name)}:${JSON.stringify(shown)}`
    })
    const keys = toAscii(`{${fields.join(',')}`)
    const scopeHash = hashOf(scope)
    const said = message(scopeHash, keys)
    const made = this.#made.get(said)
    if (made !== undefined) return made
    const mac = this.#keyring.sign(said, purpose).subarray(0, macLength).toString('base64url')
    const text = `${keys},"$sig":"${version}.${scopeHash}.${mac}`
    const fill = '.'.repeat((3 - ((text.length + 2) % 3)) % 3)
    const cursor = Buffer.from(`${text}${fill}"}`, 'latin1').toString('base64')
    if (cursor.length <= longestKept) {
      this.#keep(cursor, { scopeHash, values })
      this.#made.set(said, cursor)
    }
    return cursor
  }

  #keep(cursor: string, known: Known): void {
    if (cursor.length <= longestKept) this.#known.set(cursor, known)
  }

  /**
   * The key values of a cursor that was made for the same scope, under any of the master keys.
   * @throws Problem `invalid-cursor` for everything else.
   */
  decode(scope: CursorScope, cursor: string): KeyValue[] {
    return this.decodeOneOf([scope], cursor).values
  }

  /**
   * The same for a cursor that may have been made for one of several scopes, which all have the same keys; `which` is that
   * one's place.
   */
  decodeOneOf(scopes: readonly CursorScope[], cursor: string): { values: KeyValue[]; which: number } {
    const known = this.#known.get(cursor)
    if (known) {
      const which = scopes.findIndex((scope) => known.scopeHash === hashOf(scope))
      if (which < 0) throw otherQuery()
      return { values: [...known.values], which }
    }
    if (cursor.length > longest || cursor.length % 4 !== 0 || !alphabet.test(cursor)) throw notIssuedHere()
    const parts = signed.exec(Buffer.from(cursor, 'base64').toString('latin1'))
    if (!parts) throw notIssuedHere()
    const [, keys = '', scopeHash = '', mac = ''] = parts
    if (!this.#keyring.verify(message(scopeHash, keys), Buffer.from(mac, 'base64url'), purpose))
      throw notIssuedHere()
    const which = scopes.findIndex((scope) => scopeHash === hashOf(scope))
    const scope = scopes[which]
    if (!scope) throw otherQuery()
    // What is signed was made here, but perhaps by a version whose list had other keys or types.
    const values = JSON.parse(`${keys}}`) as Record<string, unknown>
    if (Object.keys(values).length !== scope.keys.length) throw otherQuery()
    const read = scope.keys.map((key) => readValue(values[key.name], key))
    this.#keep(cursor, { scopeHash, values: read })
    return { values: read, which }
  }
}

interface Known {
  scopeHash: string
  values: readonly KeyValue[]
}
const mostKept = 1_000

/** Characters of a text that is kept: all of them take a few megabytes at most. */
const longestKept = 500

/** JSON has no numbers for these. */
const notFinite = new Set<unknown>(['NaN', 'Infinity', '-Infinity'])

function writeNumber(value: KeyValue): KeyValue {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}

function message(scopeHash: string, keys: string): string {
  return `${version}.${scopeHash}.${keys}`
}

/** A cursor is read and another one made for the same scope, and the same is asked by many. */
const hashes = new WeakMap<CursorScope, string>()
const hashesOfTexts = new Recent<string, string>(mostKept)

function hashOf(scope: CursorScope): string {
  const known = hashes.get(scope)
  if (known !== undefined) return known
  const { list, keys, query } = scope
  const types = keys.map(({ name, type, nullable = false }) => [name, type, nullable])
  const text = JSON.stringify([list, types, query])
  let made = hashesOfTexts.get(text)
  if (made === undefined) {
    made = hash('sha256', text, 'buffer').subarray(0, hashLength).toString('base64url')
    if (text.length <= longestKept) hashesOfTexts.set(text, made)
  }
  hashes.set(scope, made)
  return made
}

const shownTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:\d{3})?Z$/

/** @throws Problem `invalid-cursor` when the value is not of the key's type. */
function readValue(value: unknown, key: CursorKey): KeyValue {
  // No text of a key of either type is one of these words, but PostgreSQL's own of the same numbers.
  if ((key.type === 'number' || key.type === 'any') && notFinite.has(value)) return Number(value)
  if (!isOfType(value, key)) throw otherQuery()
  if (key.type !== 'time' || typeof value !== 'string') return value
  // As showTime wrote it: what is signed need not be read as what anybody may have written.
  if (shownTime.test(value)) return value.length === 24 ? `${value.slice(0, -1)}000Z` : value
  try {
    return canonicalTime(value)
  } catch (error) {
    if (error instanceof InvalidTime) throw otherQuery()
    throw error
  }
}

function isOfType(value: unknown, { type, nullable }: CursorKey): value is KeyValue {
  if (value === null) return nullable === true
  if (type === 'text' || type === 'time' || (type === 'any' && typeof value === 'string'))
    return typeof value === 'string'
  return type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
}

/**
 * JSON may write any character as an escape. `>`, `?`, `~` and DEL are the only ASCII characters whose base64 can hold a
 * `+` or a `/`: as escapes, like all that is not ASCII, they leave a text whose base64 survives unescaped in an address.
 */
function toAscii(json: string): string {
  return json.replace(
    /[^ -=@-}]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function notIssuedHere(): Problem {
  return new Problem('invalid-cursor', {
    parameter: 'cursor',
    detail: 'The parameter `cursor` is not one that this service issued.',
  })
}

function otherQuery(): Problem {
  return new Problem('invalid-cursor', {
    parameter: 'cursor',
    detail: 'The parameter `cursor` was issued for another list, or for other filters or another sort.',
  })
}
