import { sql, type SqlBool } from 'kysely'
import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { PageOfRows, PageRequest } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { isOneOf } from '../../storage/one-of.ts'
import type { Reach } from '../events/audience.ts'
import { conditionsOf } from './delivery-conditions.ts'
import type { DeliverySearch } from './delivery-filter.ts'
import { newest, sourceOf, type DeliverySource, type Place } from './delivery-sources.ts'

/** A page that is asked for. `query` is what its cursor is bound to. */
export interface AskedPage extends PageRequest {
  query: unknown
}

/** Deliveries that one statement examines: a few milliseconds. */
const chunk = 500
/** Statements of one page. Then the page ends with fewer rows, and its cursor continues the search. */
const mostChunks = 4

/**
 * Finds the deliveries of a page, in the order of their source, and examines only so many for it.
 * @throws Problem `invalid-cursor`
 */
export async function findPage(
  { database, cursors }: { database: Database; cursors: Cursors },
  filter: DeliverySearch,
  reach: Reach,
  { query, limit, cursor }: AskedPage,
): Promise<PageOfRows<Place>> {
  const { readerAside: db, engine } = database
  const source = await sourceOf({ db, engine }, filter)
  const scope = scopeOf(source, query)
  let behind = cursor === undefined ? newest : readPlace(cursors.decode(scope, cursor))
  const found: Place[] = []
  // Often the source itself selects all, so the first chunk is short.
  let count = limit + 1
  for (let chunks = 0; chunks < mostChunks; chunks += 1) {
    const { places, last } = await source.read(behind, count)
    found.push(...(await matching(database, places, conditionsOf(filter, reach, source.ensured))))
    if (found.length > limit || last === undefined)
      return cursors.page(scope, found, limit, (one) => keysOf(source, one))
    behind = last
    count = chunk
  }
  return { rows: found, nextCursor: cursors.encode(scope, keysOf(source, behind)) }
}

/** Those of the deliveries that fulfil the conditions, in their order. Reads only the tables that these need. */
async function matching(
  { readerAside: db, engine }: Database,
  places: readonly Place[],
  conditions: ReturnType<typeof conditionsOf>,
): Promise<readonly Place[]> {
  if (places.length === 0 || conditions.length === 0) return places
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where(
      isOneOf(
        engine,
        'deliveries.id',
        places.map(({ id }) => id),
      ),
    )
    .where(sql<SqlBool>`${sql.join(conditions, sql` and `)}`)
    .execute()
  const ids = new Set(rows.map(({ id }) => id))
  return places.filter(({ id }) => ids.has(id))
}

function scopeOf({ order }: DeliverySource, query: unknown): CursorScope {
  const id = { name: 'id', type: 'integer' } as const
  return {
    list: 'deliveries',
    keys: order === 'id' ? [id] : [{ name: 'event', type: 'integer' }, id],
    query,
  }
}

function keysOf({ order }: DeliverySource, { event, id }: Place): number[] {
  return order === 'id' ? [id] : [event, id]
}

function readPlace(keys: readonly KeyValue[]): Place {
  const [event, id] = keys.length === 1 ? [newest.event, keys[0]] : keys
  return { event: event as number, id: id as number }
}
