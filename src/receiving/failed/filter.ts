import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { readChoice, readText } from '../../paging/filter-parameters.ts'
import { readTimeParameter } from '../../paging/time-parameter.ts'

/** The events that a declared handler gets. */
export interface HandlerFilter {
  /** What it was declared for: a type, `prefix.*` or `*`. */
  key: string
  /** The sources whose types have actions, such as `issues.opened`: there a handler for `issues` gets those too. */
  withActions: readonly string[]
}

/** Tells which events the handler gets that was declared for `key`; `undefined` when there is no such handler. */
export type FindHandler = (key: string) => HandlerFilter | undefined

const statuses = ['failed', 'retrying'] as const

/** Which failed events are meant; all that it names must hold. */
export interface FailedFilter {
  /** `retrying`: those that have failed and wait for another attempt. Default: those that have failed for good. */
  status?: (typeof statuses)[number]
  handler?: HandlerFilter
  /** A type, or `prefix.*`. */
  type?: string
  source?: string
  /** A part of the text of its last failure. */
  error?: string
  /** Received at this time or later, in milliseconds since 1970. */
  since?: number
  /** Received before this time. */
  until?: number
}

export const filterSchema = {
  status: Type.Optional(
    Type.String({
      description:
        '`failed` (the default): after their last attempt. `retrying`: failed at least once, and tried again by the schedule',
    }),
  ),
  handler: Type.Optional(
    Type.String({
      description:
        'Of the handler that the configuration declares for this type or pattern, such as `order.*`',
    }),
  ),
  type: Type.Optional(
    Type.String({ description: 'Of this type; `order.*` is all that begin with `order.`' }),
  ),
  source: Type.Optional(Type.String({ description: 'Of this source' })),
  error: Type.Optional(
    Type.String({ description: 'Whose last error holds this text; upper and lower case differ' }),
  ),
  since: Type.Optional(Type.String({ description: 'Received at this time or later, ISO 8601' })),
  until: Type.Optional(Type.String({ description: 'Received before this time, ISO 8601' })),
}

export type FilterTexts = Partial<Record<keyof typeof filterSchema, string | undefined>>

/**
 * Reads the filters of a query string and ignores empty ones.
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
        detail: 'The parameter `handler` names no handler of the configuration.',
      })
    filter.handler = handler
  }
  if (texts.type) filter.type = readText(texts.type, 'type')
  if (texts.source) filter.source = readText(texts.source, 'source')
  if (texts.error) filter.error = readText(texts.error, 'error')
  if (filter.type === '*') delete filter.type
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}
