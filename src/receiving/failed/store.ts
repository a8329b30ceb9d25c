import { type Expression, sql, type SqlBool } from 'kysely'
import { Problem } from '../../errors.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { receivedStatus } from '../../events/store.ts'
import { typeCondition } from '../../events/filter.ts'
import { isPattern } from '../../events/type-pattern.ts'
import { invalidParameter, readChoice, readText, readTimeParameter } from '../../paging/parameters.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

/** The events of a declared handler. */
interface HandlerFilter {
  /** The declared type, `prefix.*` or `*`. */
  key: string
  /** The sources whose types have actions, such as `issues.opened`. A handler for `issues` gets those events as well. */
  withActions: readonly string[]
}

/** Returns the events of the handler that was declared for `key`; `undefined` if there is no such handler. */
export type FindHandler = (key: string) => HandlerFilter | undefined

const statuses = ['failed', 'retrying'] as const

/** Selects failed events. All given conditions must hold. */
export interface FailedFilter {
  /** `retrying`: events that failed and wait for another attempt. Default: events that failed after their last attempt. */
  status?: (typeof statuses)[number]
  handler?: HandlerFilter
  /** A type, or `prefix.*`. */
  type?: string
  source?: string
  /** The id of a group of failures. Without a status: both the failed and the retried events of the group. */
  group?: string
  /** A substring of its last error. */
  error?: string
  /** Received at this time or later, in milliseconds since 1970. */
  since?: number
  /** Received before this time. */
  until?: number
}

export const filterSchema = {
  status: optionalText(
    '`failed` (the default): events that failed after their last attempt. `retrying`: events that failed and wait for their next attempt',
  ),
  handler: optionalText(
    'Events of the handler that the configuration declares for this type or pattern, such as `order.*`',
  ),
  type: optionalText('Events of this type, or of a pattern such as `order.*` or `*.created`'),
  source: optionalText('Events of this source'),
  group: optionalText(
    'Events of this group of failures (`GET /failures`). Without a status, its failed and its retried events',
  ),
  error: optionalText('Events whose last error contains this text; case-sensitive'),
  since: optionalText('Received at this time or later, ISO 8601'),
  until: optionalText('Received before this time, ISO 8601'),
}

type FilterTexts = Partial<Record<keyof typeof filterSchema, string | undefined>>

/**
 * Parses the filters of a query string. Empty ones are ignored.
 * @param findHandler where handlers are known
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readFailedFilter(texts: FilterTexts, findHandler?: FindHandler): FailedFilter {
  const filter: FailedFilter = {}
  if (texts.status) filter.status = readChoice(texts.status, 'status', statuses)
  if (texts.handler) {
    const handler = findHandler?.(texts.handler)
    if (!handler) throw invalidParameter('handler', 'does not name a handler of the configuration')
    filter.handler = handler
  }
  if (texts.type) filter.type = readText(texts.type, 'type')
  if (texts.source) filter.source = readText(texts.source, 'source')
  if (texts.group) filter.group = readText(texts.group, 'group')
  if (texts.error) filter.error = readText(texts.error, 'error')
  if (filter.type === '*') delete filter.type
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}

const whyNotAgain = {
  processed: 'The event is processed already and cannot be processed again.',
  unhandled:
    'No handler took the event when it arrived, so there is nothing to run again. Add a handler for its type, and have the sender send the event again with a new id.',
}

/**
 * Finds an event that may be processed, and locks its row against claiming, recording and deleting.
 * @param options.processed whether it may be processed already. Default false.
 * @throws Problem `not-found`; `conflict` if the event was emitted or is processed; `no-longer-kept`.
 */
export async function findReceived(
  engine: Engine,
  tx: Tx,
  event: number,
  { processed = false }: { processed?: boolean } = {},
) {
  // Locked before the event is read, because it is deleted under the same lock.
  const entry = await tx
    .selectFrom('event_queue')
    .select(['status', 'event_id', 'attempts', 'claim', 'leased_until'])
    .where('event', '=', event)
    .$if(engine === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst()
  const logged = await tx.selectFrom('events').select('id').where('id', '=', event).executeTakeFirst()
  if (!entry && logged)
    throw new Problem('conflict', {
      detail: 'The event was emitted, not received: replay its deliveries instead.',
    })
  if (!entry) throw new Problem('not-found')
  const { status } = entry
  const shown = receivedStatus(entry)
  if (status === 'processed' && !processed)
    throw new Problem('conflict', { detail: whyNotAgain[shown === 'unhandled' ? shown : 'processed'] })
  if (!logged) throw new Problem('no-longer-kept', { detail: `The event is ${shown} and its body is gone.` })
  return { eventId: entry.event_id, status, claim: entry.claim, leasedUntil: entry.leased_until }
}

/**
 * Selects failed events, or those that wait for another attempt, with their last failure. Events whose body was deleted are left
 * out, since they cannot be processed again.
 */
export function failedEvents(db: Queryable, engine: Engine, filter: FailedFilter) {
  const { status, type, handler, source, group, error, since, until } = filter
  const all = group === undefined ? isFailed : sql<SqlBool>`(${isFailed} or ${isRetrying})`
  let query = db
    .selectFrom('event_queue')
    .innerJoin('events', 'events.id', 'event_queue.event')
    .leftJoin('handler_failures as last', (join) =>
      join.onRef('last.event', '=', 'event_queue.event').on('last.number', '=', (eb) =>
        eb
          .selectFrom('handler_failures as other')
          .select((eb) => eb.fn.max('other.number').as('number'))
          .whereRef('other.event', '=', 'event_queue.event'),
      ),
    )
    .where(status === undefined ? all : status === 'failed' ? isFailed : isRetrying)
  if (type !== undefined) query = query.where(typeCondition(typeColumn, type))
  if (handler !== undefined) query = query.where(isHandledBy(handler))
  if (source !== undefined) query = query.where('event_queue.source', '=', source)
  if (group !== undefined) query = query.where('event_queue.failure_group', '=', group)
  if (error !== undefined) query = query.where(holds(engine, error))
  if (since !== undefined) query = query.where('events.created_at', '>=', since)
  if (until !== undefined) query = query.where('events.created_at', '<', until)
  return query
}

const isFailed = sql<SqlBool>`event_queue.status = 'failed'`
const isRetrying = sql<SqlBool>`(event_queue.status = 'pending' and event_queue.failed_at is not null)`

/** Returns failed events with their last failure, newest first. @param before only events below this number */
export function listFailed(
  { slowReader, engine }: Pick<Database, 'slowReader' | 'engine'>,
  filter: FailedFilter,
  before: number | undefined,
  limit: number,
) {
  return failedEvents(slowReader, engine, filter)
    .$if(before !== undefined, (rows) => rows.where('event_queue.event', '<', before!))
    .select([
      'event_queue.event',
      'event_queue.event_id',
      'event_queue.type',
      'event_queue.source',
      'event_queue.status',
      'event_queue.attempts',
      'event_queue.due_at',
      'event_queue.claim',
      'events.created_at',
      'last.at',
      'last.duration_ms',
      'last.error',
    ])
    .orderBy('event_queue.event', 'desc')
    .limit(limit)
    .execute()
}

/** Whether the handler that was declared for `key` gets events of the row's type. */
function isHandledBy({ key, withActions }: HandlerFilter): Expression<SqlBool> {
  const matching = typeCondition(typeColumn, key)
  if (isPattern(key) || withActions.length === 0) return matching
  const actions = typeCondition(typeColumn, `${key}.*`)
  return sql<SqlBool>`(${matching} or (event_queue.source in (${sql.join(withActions)}) and ${actions}))`
}

const typeColumn = sql.ref('event_queue.type')

function holds(engine: Engine, text: string): Expression<SqlBool> {
  return engine === 'sqlite'
    ? sql<SqlBool>`instr(last.error, ${text}) > 0`
    : sql<SqlBool>`strpos(last.error, ${text}) > 0`
}
