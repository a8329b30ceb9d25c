import type { Engine } from '../storage/query-runner.ts'
import { isStorableText } from '../storage/text.ts'
import type { Filter, ListDeclaration } from './list.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'

/** Words of a search; the rest is not looked at. */
const mostWords = 20
const longest = 500

/** The words of a search, all of which a row must hold. In quotes, none is an operator of either engine. */
export function readSearch(text: string): { values: readonly string[] } | 'all' | 'none' {
  if (!isStorableText(text)) return 'none'
  const words = text.slice(0, longest).match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  return words.length === 0
    ? 'all'
    : {
        values: [
          words
            .slice(0, mostWords)
            .map((word) => `"${word}"`)
            .join(' '),
        ],
      }
}

/**
 * The condition of a full-text search. On PostgreSQL the words go through the text search configuration, and an index over
 * the same expression serves it. On SQLite they are looked up in an FTS5 table, whose rowid is that of the list's table.
 */
export function searchCondition(
  column: string,
  place: string,
  { configuration = 'simple', index }: Filter,
  list: ListDeclaration,
  engine: Engine,
): string {
  if (engine === 'postgres') {
    const language = `'${configuration.replaceAll("'", "''")}'`
    return `to_tsvector(${language}, ${column}) @@ plainto_tsquery(${language}, ${place})`
  }
  const table = quoteTable(index ?? `${list.table}_search`)
  return `${quote('rowid')} in (select rowid from ${table} where ${table} match ${place})`
}
