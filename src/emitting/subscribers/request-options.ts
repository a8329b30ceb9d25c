import { type Static, Type } from 'typebox'
import { nullable } from '../../http/schemas/schemas.ts'
import type { Settings } from './destinations.ts'

export const methods = ['POST', 'PUT', 'PATCH'] as const
export const signatureHeaders = ['webhook', 'svix', 'both'] as const
export const bodies = ['event', 'data'] as const

const Statuses = Type.Array(
  Type.Union([Type.Integer({ minimum: 200, maximum: 599 }), Type.String({ pattern: '^[2-5]xx$' })]),
  { minItems: 1, maxItems: 50, description: 'Such as `[202, 409, "3xx"]`' },
)

/** Settings of a subscriber about its requests and their responses. */
export const requestOptions = {
  method: Type.Optional(Type.Enum(methods, { description: 'Default: POST' })),
  successStatuses: Type.Optional(nullable(Statuses, 'The only statuses of a success. Default: 2xx')),
  noRetryStatuses: Type.Optional(
    nullable(Statuses, 'Statuses after which no further attempt follows. Default: 410'),
  ),
  gzip: Type.Optional(
    Type.Boolean({ description: 'Compress bodies. The signature is of the body before that' }),
  ),
  signatureHeaders: Type.Optional(
    Type.Enum(signatureHeaders, {
      description:
        'webhook: `webhook-id`, `webhook-timestamp` and `webhook-signature`. svix: the same values as `svix-…`. both: all six. Default: webhook',
    }),
  ),
  body: Type.Optional(
    Type.Enum(bodies, {
      description: 'event: `{id, type, timestamp, data}`. data: only the data. Default: event',
    }),
  ),
}

export interface RequestOptions {
  method?: (typeof methods)[number] | undefined
  successStatuses?: Static<typeof Statuses> | null | undefined
  noRetryStatuses?: Static<typeof Statuses> | null | undefined
  gzip?: boolean | undefined
  signatureHeaders?: (typeof signatureHeaders)[number] | undefined
  body?: (typeof bodies)[number] | undefined
  /** Of a destination, which has no other options. */
  settings?: Settings | undefined
}

const names = Object.keys(requestOptions) as (keyof typeof requestOptions)[]
const defaults = new Set<unknown>([null, false, 'POST', 'webhook', 'event'])

/** The column: JSON of what is not the default. Options that are not given stay as they are. */
export function writeRequestOptions(given: RequestOptions, before: string | null): string | null {
  const all = { ...readRequestOptions(before) }
  for (const name of names) if (given[name] !== undefined) Object.assign(all, { [name]: given[name] })
  const kept = Object.entries(all).filter(([, value]) => !defaults.has(value))
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept))
}

export function readRequestOptions(column: string | null): RequestOptions {
  return column === null ? {} : (JSON.parse(column) as RequestOptions)
}

/** @returns whether a status is in the list */
export function statusTest(
  listed: NonNullable<RequestOptions['successStatuses']>,
): (status: number) => boolean {
  const all = new Set(listed)
  return (status) => all.has(status) || all.has(`${Math.floor(status / 100)}xx`)
}
