import type { Engine } from '../storage/query-runner.ts'
import { isStorableText } from '../storage/text.ts'
import type { Filter } from './list.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'

/** Words and characters of a search at most; further ones are ignored. */
const maxWords = 20
const maxLength = 500

/**
 * Reads the words of a search, all of which a row must contain. The values are the words, whose quotes keep them from being
 * operators of the engines, and the text as it is.
 */
export function readSearch(text: string): { values: readonly string[] } | 'all' | 'none' {
  if (!isStorableText(text)) return 'none'
  const searched = text.slice(0, maxLength).toWellFormed()
  if (searched.trim() === '') return 'all'
  const words = searched.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  // PostgreSQL finds nothing for stop words alone, either.
  if (words.length === 0) return 'none'
  const quoted = words.slice(0, maxWords).map((word) => `"${word}"`)
  return { values: [quoted.join(' '), searched] }
}

/**
 * The condition of a full-text search. PostgreSQL applies the text search configuration, and can use an index over the same
 * expression. It takes `example.com` and `3.14` for one word in a row's text, and therefore finds them only by the text as it is.
 * On SQLite the words are looked up in the column of the same name of an FTS5 table, which has the rowids of the list's table.
 * @param value returns the placeholder of the next value of readSearch
 */
export function searchCondition(
  column: string,
  value: () => string,
  { configuration = 'simple', index, table: listed }: Filter & { table: string },
  engine: Engine,
): string {
  if (engine === 'postgres') {
    const language = `'${configuration.replaceAll("'", "''")}'`
    const query = (): string => `plainto_tsquery(${language}, ${value()})`
    return `to_tsvector(${language}, ${column}) @@ (${query()} || ${query()})`
  }
  const table = quoteTable(index ?? `${listed}_search`)
  return `${quote('rowid')} in (select rowid from ${table} where ${column} match ${value()})`
}
