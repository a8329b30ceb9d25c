import { sql, type Expression, type SqlBool } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { FailedFilter } from './filter.ts'

/**
 * Failed events that the filter means, with their last failure. Those whose body is no longer kept are left out: nobody
 * can process them again.
 */
export function failedEvents(db: Queryable, engine: Engine, filter: FailedFilter) {
  const { type, source, error, since, until } = filter
  let query = db
    .selectFrom('inbox')
    .innerJoin('events', 'events.id', 'inbox.event')
    .leftJoin('handler_failures as last', (join) =>
      join.onRef('last.event', '=', 'inbox.event').on('last.number', '=', (eb) =>
        eb
          .selectFrom('handler_failures as other')
          .select((eb) => eb.fn.max('other.number').as('number'))
          .whereRef('other.event', '=', 'inbox.event'),
      ),
    )
    .where('inbox.status', '=', 'failed')
  if (type?.endsWith('.*')) query = query.where(beginsWith(type.slice(0, -1)))
  else if (type !== undefined) query = query.where('inbox.type', '=', type)
  if (source !== undefined) query = query.where('inbox.source', '=', source)
  if (error !== undefined) query = query.where(holds(engine, error))
  if (since !== undefined) query = query.where('events.created_at', '>=', since)
  if (until !== undefined) query = query.where('events.created_at', '<', until)
  return query
}

/** Unlike `like`, the same on both engines: case counts, and nothing stands for anything else. */
function beginsWith(prefix: string): Expression<SqlBool> {
  return sql<SqlBool>`substr(inbox.type, 1, ${sql.lit(Array.from(prefix).length)}) = ${prefix}`
}

function holds(engine: Engine, text: string): Expression<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`instr(last.error, ${text}) > 0`
    : sql<SqlBool>`strpos(last.error, ${text}) > 0`
}
