import type { KeyValue } from '../paging/cursor.ts'
import { isStorableText, quote, quoteTable } from '../storage/sql-text.ts'
import { allowedIn, fieldTypes, words } from './field-types.ts'
import { listedValues, unreadable } from './parameters.ts'
import {
  type AppliedFilter,
  type ConditionParts,
  type FilterEffect,
  type Unreadable,
  type Field,
  fieldOf,
  type Filter,
  type KindRules,
  type ListDeclaration,
  operators,
} from './list.ts'
import type { ValuePosition } from './field-types.ts'
import type { FilterKind } from './config.ts'
import type { Engine } from '../storage/query-runner.ts'

export const filterKinds: Record<FilterKind, KindRules> = {
  equals: {
    read: readEqual,
    sql: equals,
  },
  in: {
    read(text, field, parameter) {
      const texts = listedValues(text, parameter)
      const positions = texts.map((value) => readValue(value, field))
      const values = [
        ...new Set(
          positions.flatMap((position) =>
            position && 'at' in position ? spellings(position.at, field) : [],
          ),
        ),
      ]
      const effect = values.length === 0 ? 'none' : oneOf(values)
      const wrong = positions.indexOf(undefined)
      return wrong < 0 ? effect : { unreadable: effect, value: texts[wrong]! }
    },
    sql: isOneOf,
  },
  atLeast: range('>=', 'below'),
  above: range('>', 'below'),
  atMost: range('<=', 'above'),
  below: range('<', 'above'),
  prefix: {
    read(text, { ignoresCase, mixed }) {
      if (!isStorableText(text)) return { unreadable: 'none' }
      if (text === '') return 'all'
      const folded = ignoresCase && mixed
      const first = folded ? text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
      const end = endOfPrefix(first, folded)
      return end === undefined ? { values: [first], variant: 'open' } : { values: [first, end] }
    },
    // A prefix is a range of texts only when they are compared by bytes, whatever the column's collation, or by SQLite's `nocase`.
    sql({ column, value, engine, field, applied }) {
      const { ignoresCase } = field
      // The type citext lowers both sides before it compares them, and a lowered end need not be after a lowered prefix.
      if (ignoresCase && engine === 'postgres')
        return `starts_with(${loweredColumn(column, field)}, ${loweredValue(value(), field)})`
      const bySqlite = ignoresCase ? column : `${column} collate binary`
      const bytes = engine === 'postgres' ? `${column} collate "C"` : bySqlite
      const least = `${bytes} >= ${value()}`
      return applied.values.length === 1 ? least : `${least} and ${bytes} < ${value()}`
    },
  },
  iprefix: {
    read: (text) => readPart(text, [text, text + highestCharacter]),
    // The database lowers both sides, because SQLite lowers ASCII letters only.
    sql({ column, value, engine, field }) {
      const low = `${loweredColumn(column, field)}${byBytes[engine]}`
      const bound = (): string => loweredValue(value(), field)
      return `${low} >= ${bound()} and ${low} < ${bound()}`
    },
  },
  contains: substring(false),
  icontains: substring(true),
  not: {
    read: (text, field) => complement(readEqual(text, field)),
    sql: opposite(equals),
  },
  notIn: {
    read: (text, field, parameter) => complement(filterKinds.in.read(text, field, parameter)),
    sql: opposite(isOneOf),
  },
  has: {
    read(text, { mixed }) {
      if (!isStorableText(text)) return { unreadable: 'none' }
      return mixed && asWritten.test(text) ? { values: [text, text], variant: 'written' } : { values: [text] }
    },
    sql({ column, plain, engine, field, applied: { variant } }) {
      const found = (): string => hasElement(column, field, plain(), engine)
      if (variant === '') return found()
      // SQLite takes three times as long to parse an array as to search its text.
      const isCandidate = `(instr(${column}, ${plain()}) > 0 or instr(${column}, '\\') > 0 or typeof(${column}) = 'blob')`
      return `${isCandidate} and ${found()}`
    },
  },
  flag: {
    read: (text, field) =>
      text === 'true' || text === 'false' ? readEqual(text, field) : { unreadable: 'all' },
    sql: equals,
  },
  null: {
    read: trueOrFalse({ values: [], variant: 'null' }, { values: [], variant: 'not null' }),
    sql: ({ column, applied }) => `${column} is ${applied.variant}`,
  },
  positiveWhenTrue: {
    read: trueOrFalse({ values: [] }, 'all'),
    sql: ({ column }) => `${column} > 0`,
  },
  search: {
    read: (text) => readSearch(text),
    sql: searchCondition,
  },
}

/** Sorts after all other characters, by bytes. */
const highestCharacter = '\u{10ffff}'

/** Reads a part of a text. The empty text is part of every text. */
function readPart(text: string, values: readonly KeyValue[], variant = ''): FilterEffect | Unreadable {
  if (!isStorableText(text) || text.length > maxLength) return { unreadable: 'none' }
  return text === '' ? 'all' : { values, variant }
}

/** The collation of the index for `iprefix`. */
export const byBytes = { sqlite: '', postgres: ' collate "C"' }

/** The expression of a column in lower case, as in the index for `iprefix`. */
export function loweredColumn(column: string, { asText = '' }: Field): string {
  return `lower(${column}${asText})`
}

/** Without the column's collation, the database's default would lower other letters than `loweredColumn` does. */
function loweredValue(placeholder: string, { lowering }: Field): string {
  return lowering === undefined
    ? `lower(${placeholder})`
    : `lower(${placeholder} collate ${lowering})${byBytes.postgres}`
}

/** Elements that JSON writes unchanged if it has no backslash: no numbers, arrays or objects. */
const asWritten = /^(?!Inf$)\p{L}/u

/**
 * The condition that an array, of PostgreSQL or in JSON, has an element with this text.
 * @param text a placeholder
 */
function hasElement(column: string, { array }: Field, text: string, engine: Engine): string {
  if (engine === 'sqlite')
    return `exists (select 1 from json_each(case when json_valid(${column}, 9) and json_type(${column}) = 'array' then ${column} else '[]' end) where ${jsonText('type', 'value')} = ${text})`
  if (array === 'jsonb') return `(${column} @> jsonb_build_array(${text}::text))`
  if (array === undefined) return `(${column}::jsonb @> jsonb_build_array(${text}::text))`
  // An index on an array needs its exact type. Elements of other types are compared as text: casting the text to them could fail.
  return isTextArray(array) ? `${column} @> array[${text}]::${array}` : `${text} = any(${column}::text[])`
}

/** Whether an index serves `has` on arrays of this type. */
export function isTextArray(array: string): boolean {
  return /^(?:text|character varying)(?:\(\d+\))?\[\]$/.test(array)
}

/** The text of a value of JSON on SQLite, where `true` is 1. */
function jsonText(type: string, value: string): string {
  return `case ${type} when 'true' then 'true' when 'false' then 'false' else cast(${value} as text) end`
}

/** The expression of a member of JSON, as text; null if it is missing. */
export function memberColumn(column: string, member: string, engine: Engine): string {
  const names = member.split('.')
  if (engine === 'postgres') return `(${column} #>> '{${names.join(',')}}')`
  const path = `'$.${names.map((name) => `"${name}"`).join('.')}'`
  return `(case when json_valid(${column}, 9) then ${jsonText(`json_type(${column}, ${path})`, `${column} ->> ${path}`)} end)`
}

/** The field that a filter compares: a member of JSON is a text that may be missing. */
export function comparedField(
  list: Pick<ListDeclaration, 'name' | 'fields'>,
  { field, member }: Filter,
): Field {
  const declared = fieldOf(list, field)
  const { column, description, hidden = false } = declared
  return member === undefined ? declared : { type: 'text', column, description, hidden, nullable: true }
}

/** The fewest characters that a trigram index finds. */
const trigram = 3

/**
 * A part of a text. On PostgreSQL it is a pattern, which a trigram index serves. On SQLite it is the text, and a phrase that finds it
 * in an FTS5 table, unless it is too short for that.
 * @param folded whether it ignores case
 */
function substring(folded: boolean): KindRules {
  return {
    read(text, { mixed }) {
      const values = mixed
        ? [text, `"${text.replaceAll('"', '""')}"`]
        : [`%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`]
      return readPart(text, values, Array.from(text).length < trigram ? 'short' : '')
    },
    sql({ column, value, plain, engine, field: { ignoresCase, asText = '' }, applied: { filter, variant } }) {
      if (engine === 'postgres')
        return `${column}${asText} ${folded || ignoresCase ? 'ilike' : 'like'} ${value()}`
      const found =
        folded || ignoresCase
          ? `instr(lower(${column}), lower(${value()})) > 0`
          : `instr(${column}, ${value()}) > 0`
      if (filter.index === undefined || variant === 'short') return found
      // Depending on its tokenizer, the FTS5 table ignores case and accents: it finds all of the rows, and others.
      return `${found} and ${matching(filter.index, column, plain())}`
    },
  }
}

const everyRow = { values: [], variant: 'every' }

/** Turns the effect of `equals` or `in` into that of `not` or `notIn`, which null passes, too. */
function complement(effect: FilterEffect | Unreadable): FilterEffect | Unreadable {
  if (effect === 'none') return everyRow
  if (effect === 'all' || !('unreadable' in effect)) return effect
  return { ...effect, unreadable: effect.unreadable === 'none' ? 'all' : effect.unreadable }
}

/** @param condition the condition to negate */
function opposite(condition: KindRules['sql']): KindRules['sql'] {
  return (parts) =>
    parts.applied.variant === everyRow.variant ? '1 = 1' : `(${condition(parts)}) is not true`
}

/** Reads a filter of `true` or `false`. */
export function trueOrFalse(whenTrue: FilterEffect, whenFalse: FilterEffect): KindRules['read'] {
  return (text) => (text === 'true' ? whenTrue : text === 'false' ? whenFalse : { unreadable: 'all' })
}

export function rulesOf({ kind, rules }: Pick<Filter, 'kind' | 'rules'>): KindRules {
  return rules ?? filterKinds[kind]
}

const anyValue = { values: [], variant: 'any' }

/** @param passing the side of all values on which a bound lets every value pass. */
function range(operator: '>=' | '>' | '<=' | '<', passing: 'above' | 'below'): KindRules {
  return {
    read(text, field) {
      const position = readValue(text, field)
      if (position === undefined) return { unreadable: 'all' }
      // All values pass a bound that is beyond them; null passes none.
      if ('beyond' in position) return position.beyond === passing ? anyValue : 'none'
      if ('at' in position) return { values: [position.at] }
      // Among integers, > 2.5 is > 2, and >= 2.5 is >= 3.
      const [lower, upper] = position.between
      return { values: [operator === '>' || operator === '<=' ? lower : upper] }
    },
    sql: ({ column, compare, value, applied }) =>
      applied.variant === anyValue.variant ? `${column} is not null` : compare(operator, value()),
  }
}

/** The value of a field that a text stands for; `undefined` if the text is not a value of the field. */
export function readValue(text: string, field: Field): ValuePosition {
  if (field.values && !field.values.includes(text)) return undefined
  return fieldTypes[field.type].read(text, field)
}

function readEqual(text: string, field: Field): ReturnType<KindRules['read']> {
  const position = readValue(text, field)
  if (!position) return { unreadable: 'none' }
  // No value of the field equals 2.5 or 1e99.
  if (!('at' in position)) return 'none'
  const values = spellings(position.at, field)
  return values.length === 1 ? { values } : oneOf(values)
}

function equals(parts: ConditionParts): string {
  return parts.applied.values.length === 1 ? parts.compare('=', parts.value()) : isOneOf(parts)
}

/** A UUID as it is given and in lower case, as which most programs write it: on SQLite it is a text. A boolean may be one, too. */
export function spellings(value: KeyValue, { type, ignoresCase, words: hasWords }: Field): KeyValue[] {
  if (hasWords) return [value, ...(value === 1 ? words.true : words.false)]
  return type === 'uuid' && !ignoresCase ? [...new Set([value, String(value).toLowerCase()])] : [value]
}

function isOneOf({ column, value, compare, field, applied }: ConditionParts): string {
  if (field.operators !== undefined)
    return `(${applied.values.map(() => compare('=', value())).join(' or ')})`
  return `${column} in (${applied.values.map(value).join(', ')})`
}

/** Repeats the last value up to the next power of two, so that few statements serve any number of values. */
export function oneOf(values: readonly KeyValue[]): { values: readonly KeyValue[]; variant: string } {
  let size = 1
  while (size < values.length) size *= 2
  const filled = Array.from({ length: size }, (_, index) => values[Math.min(index, values.length - 1)]!)
  return { values: filled, variant: String(size) }
}

/**
 * The smallest text, by its bytes, after all texts with this prefix; `undefined` if no text is greater.
 * @param folded whether the bytes of capital letters do not occur
 */
function endOfPrefix(prefix: string, folded = false): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.length > 0) {
    const last = points.pop()!
    if (last === 0x10_ff_ff) continue
    // The code points after U+D7FF are surrogates, which no text holds. Those after @ are capital letters, which `nocase` folds.
    const next = last === 0xd7_ff ? 0xe0_00 : folded && last === 0x40 ? 0x5b : last + 1
    return String.fromCodePoint(...points, next)
  }
  return undefined
}

/** The filters of one query. */
export interface QueryFilters {
  applied: readonly AppliedFilter[]
  /** Whether a filter lets no row pass. */
  empty: boolean
  /** The effective filters in a form that is equal for equal queries. Cursors are bound to it. */
  fingerprint: readonly (readonly KeyValue[])[]
}

/**
 * Reads the filters of a query string. Parameters that are absent or without effect are left out.
 * @throws Problem `invalid-parameter` for a value that a strict list cannot read
 */
export function readFilters(
  list: Pick<ListDeclaration, 'name' | 'fields' | 'filters' | 'strict'>,
  parameters: Readonly<Record<string, string>>,
): QueryFilters {
  const applied: AppliedFilter[] = []
  const fingerprint: KeyValue[][] = []
  const impossible: Filter[] = []
  for (const filter of list.filters) {
    const text = parameters[filter.parameter]
    if (text === undefined) continue
    const effect = effectOf(list, filter, text)
    if (effect === 'all') continue
    if (effect === 'none') {
      impossible.push(filter)
      fingerprint.push([filter.parameter, text])
      continue
    }
    const { values, variant = '' } = effect
    applied.push({ filter, values, variant })
    // JSON has no infinities.
    const written = values.map((value) => (Math.abs(value as number) === Infinity ? String(value) : value))
    fingerprint.push(
      variant === '' ? [filter.parameter, ...written] : [filter.parameter, variant, ...written],
    )
  }
  // Of a group, another filter may let rows pass.
  const empty = impossible.some(
    ({ group }) => group === undefined || !applied.some(({ filter }) => filter.group === group),
  )
  return { applied, empty, fingerprint }
}

function effectOf(
  list: Pick<ListDeclaration, 'name' | 'fields' | 'strict'>,
  filter: Filter,
  text: string,
): FilterEffect {
  const field = comparedField(list, filter)
  const effect = rulesOf(filter).read(text, field, filter.parameter)
  if (effect === 'all' || effect === 'none' || !('unreadable' in effect)) return effect
  if (!list.strict) return effect.unreadable
  throw unreadable(filter.parameter, effect.value ?? text, allowedValues(filter, field))
}

/** What a filter's value must be, for an error. */
function allowedValues({ kind }: Filter, field: Field): string {
  if (operators[kind].takes === 'boolean') return allowedIn({ type: 'boolean' })
  if (kind === 'search') return 'a text with a letter or a digit, and without U+0000'
  if (partKinds.has(kind)) return `a text of at most ${maxLength} characters without U+0000`
  return allowedIn(field)
}

/** The kinds that find part of a text, and that a special index serves. */
export const partKinds: ReadonlySet<FilterKind> = new Set(['contains', 'icontains', 'iprefix'])

/** Most words of a search; further ones are ignored. */
const maxWords = 20
/** Most characters of a search, whose rest is ignored, and of a part of a text, which is unreadable if longer. */
const maxLength = 500

/**
 * Reads the words of a search, all of which a row must contain. The values are the words, whose quotes keep them from being
 * operators of the engines, and the text as it is.
 */
function readSearch(text: string): FilterEffect | Unreadable {
  if (!isStorableText(text)) return { unreadable: 'none' }
  const searched = text.slice(0, maxLength).toWellFormed()
  if (searched.trim() === '') return 'all'
  const parts = searched.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const words = parts.filter((part) => /[\p{L}\p{N}]/u.test(part))
  if (words.length === 0) return { unreadable: 'none' }
  const quoted = words.slice(0, maxWords).map((word) => `"${word}"`)
  return { values: [quoted.join(' '), searched] }
}

/** The query of a full-text search on PostgreSQL. @param value returns the placeholder of the next value of readSearch */
function searchQuery(configuration: string, value: () => string): string {
  const query = (): string => `plainto_tsquery(${textLiteral(configuration)}, ${value()})`
  return `(${query()} || ${query()})`
}

/**
 * The statement that counts the words of a search that have an effect; `undefined` if all of them have. PostgreSQL ignores the stop words
 * of its configuration, and a trigram index of SQLite all words of fewer than three characters.
 * @param applied a filter of the kind `search`
 * @param value as of searchQuery
 */
export function effectiveWords(
  { filter: { configuration = 'simple', index }, values }: AppliedFilter,
  { table }: ListDeclaration,
  value: () => string,
  engine: Engine,
): string | undefined {
  if (engine === 'postgres') return `select numnode(${searchQuery(configuration, value)})`
  const words = String(values[0]).replaceAll('"', '').split(' ')
  if (words.some((word) => Array.from(word).length >= trigram)) return undefined
  const name = textLiteral(index ?? `${table}_search`)
  return `select count(*) from sqlite_schema where name = ${name} collate nocase and sql not like '%trigram%'`
}

function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/**
 * The condition of a full-text search. PostgreSQL applies the text search configuration, and can use an index over the same
 * expression. It takes `example.com` and `3.14` for one word in a row's text, and therefore finds them only by the text as it is.
 * On SQLite the words are looked up in the column of the same name of an FTS5 table, which has the rowids of the list's table.
 */
function searchCondition({ column, plain, engine, table, applied: { filter } }: ConditionParts): string {
  const { configuration = 'simple', index = `${table}_search` } = filter
  if (engine === 'sqlite') return matching(index, column, plain())
  return `to_tsvector(${textLiteral(configuration)}, ${column}) @@ ${searchQuery(configuration, plain)}`
}

/** The rows that an FTS5 table finds in its column of this name. */
function matching(index: string, column: string, phrase: string): string {
  return `${quote('rowid')} in (select rowid from ${quoteTable(index)} where ${column} match ${phrase})`
}
