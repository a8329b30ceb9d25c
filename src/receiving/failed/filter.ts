import { Problem } from '../../errors.ts'
import { readChoice, readText, readTimeParameter } from '../../paging/filter-parameters.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

/** The events of a declared handler. */
export interface HandlerFilter {
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
  type: optionalText('Events of this type; `order.*` matches all types that begin with `order.`'),
  source: optionalText('Events of this source'),
  group: optionalText(
    'Events of this group of failures (`GET /failures`). Without a status, its failed and its retried events',
  ),
  error: optionalText('Events whose last error contains this text; case-sensitive'),
  since: optionalText('Received at this time or later, ISO 8601'),
  until: optionalText('Received before this time, ISO 8601'),
}

export type FilterTexts = Partial<Record<keyof typeof filterSchema, string | undefined>>

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
    if (!handler)
      throw new Problem('invalid-parameter', {
        parameter: 'handler',
        detail: 'The parameter `handler` does not name a handler of the configuration.',
      })
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
