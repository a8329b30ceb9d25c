import type { Engine } from '../storage/query-runner.ts'
import { isStorableText } from '../storage/text.ts'
import type { Filter } from './list.ts'
import { quote, quoteTable } from '../storage/sql-names.ts'

/** Words and characters of a search at most; further ones are ignored. */
const maxWords = 20
const maxLength = 500

/** Reads the words of a search, all of which a row must contain. The quotes keep them from being operators of the engines. */
export function readSearch(text: string): { values: readonly string[] } | 'all' | 'none' {
  if (!isStorableText(text)) return 'none'
  const words = text.slice(0, maxLength).match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  return words.length === 0
    ? 'all'
    : {
        values: [
          words
            .slice(0, maxWords)
            .map((word) => `"${word}"`)
            .join(' '),
        ],
      }
}

/**
 * The condition of a full-text search. PostgreSQL applies the text search configuration, and can use an index over the same
 * expression. On SQLite the words are looked up in the column of the same name of an FTS5 table, which has the rowids of
 * the list's table.
 */
export function searchCondition(
  column: string,
  placeholder: string,
  { configuration = 'simple', index, table: listed }: Filter & { table: string },
  engine: Engine,
): string {
  if (engine === 'postgres') {
    const language = `'${configuration.replaceAll("'", "''")}'`
    return `to_tsvector(${language}, ${column}) @@ plainto_tsquery(${language}, ${placeholder})`
  }
  const table = quoteTable(index ?? `${listed}_search`)
  return `${quote('rowid')} in (select rowid from ${table} where ${column} match ${placeholder})`
}
