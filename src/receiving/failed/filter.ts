import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { readTimeParameter } from '../../paging/time-parameter.ts'

/** Which failed events are meant; all that it names must hold. */
export interface FailedFilter {
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

const longestText = 1_000

/** Empty ones do not count. @throws Problem `invalid-parameter` that names the one at fault. */
export function readFailedFilter(texts: FilterTexts): FailedFilter {
  const filter: FailedFilter = {}
  for (const name of ['type', 'source', 'error'] as const) {
    const text = texts[name]
    if (!text) continue
    if (text.length > longestText || text.includes('\0') || !text.isWellFormed())
      throw new Problem('invalid-parameter', {
        parameter: name,
        detail: `The parameter \`${name}\` is no text of up to ${longestText} characters.`,
      })
    filter[name] = text
  }
  if (filter.type === '*') delete filter.type
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}
