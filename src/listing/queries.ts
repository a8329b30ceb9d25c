import { BoundedCache } from '../paging/bounded-cache.ts'
import type { ListDeclaration } from './list.ts'
import { readQuery, type Parameters, type Query } from './query.ts'
import type { Caller } from './config.ts'

/** Queries in the cache of one list, and the longest URL of one, in characters. A full cache uses a few megabytes. */
const cacheSize = 500
const maxCachedUrl = 1_000

/** Returns the function that reads requests of one list. Queries are cached: reading one takes longer than reading its page. */
export function queriesOf(
  list: ListDeclaration,
): (request: { url: string; parameters: Parameters; caller: Caller | undefined }) => Query {
  const cache = new BoundedCache<string, Query>(cacheSize)
  return ({ url, parameters, caller }) => {
    // `where` may return other conditions for each request.
    if (list.where || url.length > maxCachedUrl) return readQuery(list, parameters, caller)
    let query = cache.get(url)
    if (!query) cache.set(url, (query = readQuery(list, parameters)))
    return query
  }
}
