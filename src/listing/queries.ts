import { BoundedCache } from '../paging/bounded-cache.ts'
import type { Caller, ListDeclaration } from './list.ts'
import { readQuery, type Parameters, type Query } from './query.ts'

/** Queries that are kept, and the longest address of one, in characters: all of them take a few megabytes at most. */
const mostKept = 500
const longestKept = 1_000

/** Reads what requests ask of one list. The same page is asked for again and again: reading that takes longer than finding it. */
export function queriesOf(
  list: ListDeclaration,
): (request: { url: string; parameters: Parameters; caller: Caller | undefined }) => Query {
  const kept = new BoundedCache<string, Query>(mostKept)
  return ({ url, parameters, caller }) => {
    // Which rows a caller may see is asked each time.
    if (list.where || url.length > longestKept) return readQuery(list, parameters, caller)
    let query = kept.get(url)
    if (!query) kept.set(url, (query = readQuery(list, parameters)))
    return query
  }
}
