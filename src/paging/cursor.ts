import { hash } from 'node:crypto'
import { type SelectQueryBuilder, sql, type SqlBool } from 'kysely'
import type { Keyring } from '../crypto/keyring.ts'
import { Problem } from '../errors.ts'
import { BoundedCache, oncePer } from '../runtime/bounded-cache.ts'
import type { PageOfRows, PageRequest } from './parameters.ts'
import { readCanonicalTime, showTime } from './time.ts'

/** The query that a cursor is bound to. Another query refuses it. */
export interface CursorScope {
  /** The list's name. */
  list: string
  /** The keys of the order, the unique one last. */
  keys: readonly CursorKey[]
  /**
   * Everything that decides which rows are returned, in which order: sort, filters, the caller's rows. It is hashed as JSON, so
   * equal queries must have equal JSON. The page size is not part of it: a client may change it between pages.
   */
  query: unknown
}

/** The scope of a list in the order of its ids. */
export function idScope(list: string, query: unknown): CursorScope {
  return { list, keys: [{ name: 'id', type: 'text' }], query }
}

const version = 1
const purpose = 'cursor'
/** Bytes of the scope's hash. */
const hashLength = 12
/**
 * The longest cursor that is issued and accepted, in characters: enough for keys of about a thousand characters in any script. A
 * request, whose address and headers may have 16 KiB, also carries the filters and a credential.
 */
const maxLength = 8_192
/** Entries of a cache, and the longest text in one, in characters. A full cache uses a few megabytes. */
const cacheSize = 1_000
const maxCachedLength = 500

/** Standard base64 without `+`, `/` and `=`; see Cursors and `toAscii`. */
const alphabet = /^[A-Za-z0-9]+$/
const format = /^(\{.+),"\$sig":"1\.([\w-]{16})\.([\w-]{24})\.{0,2}"\}$/

/** A cursor whose signature is verified. */
interface VerifiedCursor {
  scopeHash: string
  values: readonly KeyValue[]
}

/**
 * Compound cursors: the key values of a row, bound to their query and authenticated with the master key.
 *
 * A cursor is the base64 of a JSON object: the keys by name, as the item shows them, in the order of the sort, and `$sig`, which
 * is `version.hash of the scope.HMAC`, both in base64url: `{"createdAt":"…","_id":"…","$sig":"1.….…"}`. The HMAC covers the
 * version, the hash and the text of the keys. The text is written so that its base64 has letters and digits only: up to two
 * full stops pad the signature to a length that needs no `=`.
 */
export class Cursors {
  readonly #keyring: Keyring
  /** By cursor: the cursors that were issued or verified last. A client usually sends the newest one back at once. */
  readonly #verified = new BoundedCache<string, VerifiedCursor>(cacheSize)
  /** By signed message: the cursors that were issued last. Many clients read the same page. */
  readonly #issued = new BoundedCache<string, string>(cacheSize)

  constructor(keyring: Keyring) {
    this.#keyring = keyring
  }

  /**
   * @param values one for each key of the scope, in their order.
   * @throws Problem `invalid-parameter` that names the field whose value makes the cursor longer than `decode` accepts.
   */
  encode(scope: CursorScope, values: readonly KeyValue[]): string {
    // Otherwise a mistake of the caller would sign a cursor that cannot be decoded.
    if (values.length !== scope.keys.length || values.includes(undefined as never))
      throw new TypeError(`a cursor of ${scope.list} needs ${scope.keys.length} values`)
    const fields = scope.keys.map(
      (key, index) => `${JSON.stringify(key.name)}:${JSON.stringify(writeValue(values[index]!, key))}`,
    )
    const keys = toAscii(`{${fields.join(',')}`)
    const scopeHash = hashOf(scope)
    const message = messageOf(scopeHash, keys)
    const issued = this.#issued.get(message)
    if (issued !== undefined) return issued
    const mac = this.#keyring.proof(message, purpose)
    const text = `${keys},"$sig":"${version}.${scopeHash}.${mac}`
    const padding = '.'.repeat((3 - ((text.length + 2) % 3)) % 3)
    const cursor = Buffer.from(`${text}${padding}"}`, 'latin1').toString('base64')
    if (cursor.length > maxLength) throw tooLong(scope, fields)
    if (cursor.length <= maxCachedLength) {
      this.#verified.set(cursor, { scopeHash, values })
      this.#issued.set(message, cursor)
    }
    return cursor
  }

  /** Returns a page of at most `limit` rows. `found` has one more row if there is a next page. */
  page<Row>(
    scope: CursorScope,
    found: Row[],
    limit: number,
    keyOf: (row: Row) => readonly KeyValue[],
  ): PageOfRows<Row> {
    const rows = found.slice(0, limit)
    return { rows, nextCursor: found.length > limit ? this.encode(scope, keyOf(rows.at(-1)!)) : null }
  }

  /**
   * Reads a page of a list with one key.
   * @param read returns at most `count` rows behind a key, or the first ones
   * @throws Problem `invalid-cursor`
   */
  async read<Key extends KeyValue, Row>(
    scope: CursorScope,
    { limit, cursor }: PageRequest,
    read: (behind: Key | undefined, count: number) => Promise<Row[]>,
    keyOf: (row: Row) => Key,
  ): Promise<PageOfRows<Row>> {
    const behind = cursor === undefined ? undefined : (this.decode(scope, cursor)[0] as Key)
    return this.page(scope, await read(behind, limit + 1), limit, (row) => [keyOf(row)])
  }

  /** The same for a list of `idScope`. */
  readById<Row extends { id: string }>(
    scope: CursorScope,
    request: PageRequest,
    read: (behind: string | undefined, count: number) => Promise<Row[]>,
  ): Promise<PageOfRows<Row>> {
    return this.read(scope, request, read, ({ id }) => id)
  }

  /** A page of a query's rows, those with the highest ids first. @throws Problem `invalid-cursor` */
  newest<DB, TB extends keyof DB, Row extends { id: string }>(
    scope: CursorScope,
    request: PageRequest,
    query: SelectQueryBuilder<DB, TB, Row>,
    column = 'id',
  ): Promise<PageOfRows<Row>> {
    const id = sql.ref(column)
    const isBefore = (before: string) => sql<SqlBool>`${id} < ${before}`
    return this.readById(scope, request, (before, count) =>
      query
        .$if(before !== undefined, (rest) => rest.where(isBefore(before!)))
        .orderBy(id, 'desc')
        .limit(count)
        .execute(),
    )
  }

  /**
   * Returns the key values of a cursor that any of the master keys signed for this scope.
   * @throws Problem `invalid-cursor` for any other text.
   */
  decode(scope: CursorScope, cursor: string): KeyValue[] {
    return this.decodeOneOf([scope], cursor).values
  }

  /**
   * Decodes a cursor that was issued for one of several scopes with the same keys. `which` is the index of that scope.
   * @throws Problem `invalid-cursor` for any other text.
   */
  decodeOneOf(scopes: readonly CursorScope[], cursor: string): { values: KeyValue[]; which: number } {
    const found = this.#verified.get(cursor) ?? this.#verify(cursor)
    const { scopeHash } = found
    const which = scopes.findIndex((scope) => scopeHash === hashOf(scope))
    const scope = scopes[which]
    if (!scope) throw invalidCursor(otherQuery)
    if ('values' in found) return { values: [...found.values], which }
    const values = readKeys(found.keys, scope)
    if (cursor.length <= maxCachedLength) this.#verified.set(cursor, { scopeHash, values })
    return { values, which }
  }

  /** Returns the signed parts. @throws Problem `invalid-cursor` without a valid signature. */
  #verify(cursor: string): { keys: string; scopeHash: string } {
    if (cursor.length > maxLength || cursor.length % 4 !== 0 || !alphabet.test(cursor))
      throw invalidCursor(notIssuedHere)
    const parts = format.exec(Buffer.from(cursor, 'base64').toString('latin1'))
    if (!parts) throw invalidCursor(notIssuedHere)
    const [, keys = '', scopeHash = '', mac = ''] = parts
    if (!this.#keyring.verify(messageOf(scopeHash, keys), mac, purpose)) throw invalidCursor(notIssuedHere)
    return { keys, scopeHash }
  }
}

/** Reads verified keys. An older version, whose list had other keys or types, may have signed them. */
function readKeys(keys: string, scope: CursorScope): KeyValue[] {
  const values = JSON.parse(`${keys}}`) as Record<string, unknown>
  if (Object.keys(values).length !== scope.keys.length) throw invalidCursor(otherQuery)
  return scope.keys.map((key) => {
    const value = readValue(values[key.name], key)
    if (value === undefined) throw invalidCursor(otherQuery)
    return value
  })
}

function messageOf(scopeHash: string, keys: string): string {
  return `${version}.${scopeHash}.${keys}`
}

/** Requests of one query share its scope object, and equal queries share its text. */
const textHashes = new BoundedCache<string, string>(cacheSize)
const hashOf = oncePer(({ list, keys, query }: CursorScope): string => {
  const types = keys.map(({ name, type, nullable = false }) => [name, type, nullable])
  const text = JSON.stringify([list, types, query])
  const known = textHashes.get(text)
  if (known !== undefined) return known
  const scopeHash = hash('sha256', text, 'buffer').subarray(0, hashLength).toString('base64url')
  if (text.length <= maxCachedLength) textHashes.set(text, scopeHash)
  return scopeHash
})

/**
 * Escapes characters so that the base64 of the text needs no escaping in a URL. `>`, `?`, `~` and DEL are the only ASCII
 * characters whose base64 can hold a `+` or a `/`; all characters beyond ASCII are escaped, too.
 */
function toAscii(json: string): string {
  return json.replace(
    /[^ -=@-}]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** @param fields the text of each key */
function tooLong({ keys }: CursorScope, fields: readonly string[]): Problem {
  const lengths = fields.map((text) => toAscii(text).length)
  const { name } = keys[lengths.indexOf(Math.max(...lengths))]!
  return new Problem('invalid-parameter', {
    parameter: 'sort',
    detail: `The field \`${name}\` of a row at which this page begins or ends is too long for a cursor. Choose another \`sort\`, or a \`limit\` with which the page has other ends.`,
  })
}

const notIssuedHere = 'is not one that this service issued'
const otherQuery = 'was issued for another list, or for other filters or another sort'

/** @param why continues the sentence that begins with the parameter, without the full stop */
export function invalidCursor(why: string): Problem {
  return new Problem('invalid-cursor', { parameter: 'cursor', detail: `The parameter \`cursor\` ${why}.` })
}

/**
 * A key value in a cursor. Times are texts, because a Date would lose the microseconds. An integer beyond 2^53 and a BLOB come
 * from SQLite, which stores values of any type in any column.
 */
export type KeyValue = string | number | bigint | Uint8Array | null

/** A value in a cursor's JSON that no plain JSON value could be told from. */
type Written = string | number | null | Partial<Record<'number' | 'integer' | 'blob' | 'text', string>>

export interface CursorKey {
  /** The field's name in the list's items. */
  name: string
  /**
   * `number` is any number, `integer` one that a double holds exactly. `time` is a canonical time (time.ts), which the cursor
   * holds as the item shows it. `any` is a text or a finite number, as the database returned it.
   */
  type: 'text' | 'number' | 'integer' | 'time' | 'any'
  nullable?: boolean
  /**
   * Whether the key is a column of a user's table. SQLite stores values of any type in it, and null in a primary key that is not
   * declared `not null`. Then every value that a row can have is accepted: the signature proves that one had it.
   */
  asStored?: boolean
}

/** Numbers that JSON cannot represent. */
const notFinite = new Set(['NaN', 'Infinity', '-Infinity'])
/** A time in the form that showTime returns. */
const shownTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:\d{3})?Z$/
const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** The value in the JSON of a cursor. */
export function writeValue(value: KeyValue, { type }: CursorKey): Written {
  if (typeof value === 'bigint') return { integer: String(value) }
  if (typeof value === 'number') return Number.isFinite(value) ? value : { number: String(value) }
  if (typeof value === 'object') return value && { blob: Buffer.from(value).toString('base64') }
  // A column of times may hold other texts, which must come back unchanged.
  if (type === 'time') return canonical.test(value) ? showTime(value) : { text: value }
  return value
}

/** Reads a value from the JSON of a cursor; `undefined` when it is not of the key's type. */
export function readValue(value: unknown, key: CursorKey): KeyValue | undefined {
  if (typeof value === 'object' && value !== null) return readWritten(value, key)
  if (!isOfType(value, key)) return undefined
  return key.type === 'time' && typeof value === 'string' ? readShownTime(value) : value
}

function readWritten(written: object, { type, asStored }: CursorKey): KeyValue | undefined {
  const [[form, value] = [], ...others] = Object.entries<unknown>(written as Record<string, unknown>)
  if (typeof value !== 'string' || others.length > 0) return undefined
  if (form === 'number' && (asStored || type === 'number' || type === 'any'))
    return notFinite.has(value) ? Number(value) : undefined
  if (!asStored) return undefined
  if (form === 'integer') return /^-?\d{1,19}$/.test(value) ? BigInt.asIntN(64, BigInt(value)) : undefined
  if (form === 'blob') return Buffer.from(value, 'base64')
  return form === 'text' ? value : undefined
}

function readShownTime(text: string): string | undefined {
  // This service signed the cursor, so the form alone proves that the time is valid.
  if (shownTime.test(text)) return text.length === 24 ? `${text.slice(0, -1)}000Z` : text
  return readCanonicalTime(text)
}

function isOfType(value: unknown, { type, nullable, asStored }: CursorKey): value is KeyValue {
  if (asStored) return value === null || typeof value === 'string' || Number.isFinite(value)
  if (value === null) return nullable === true
  if (type === 'text' || type === 'time' || (type === 'any' && typeof value === 'string'))
    return typeof value === 'string'
  return type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
}
