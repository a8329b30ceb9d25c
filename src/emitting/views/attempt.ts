import { Type, type Static } from 'typebox'
import { closedObject, DateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Phases } from '../../network/exchange.ts'
import type { AttemptsTable } from '../../storage/tables.ts'
import { troubleshootingHint } from '../attempt/troubleshooting-hints.ts'
import { addressKey } from '../attempt/attempt.ts'

const Headers = Type.Record(Type.String(), Type.String())

export const Milliseconds = (description: string) => nullable(Type.Number({ description }))

export const PhasesView = closedObject(
  {
    reused: Type.Boolean({
      description: 'Whether an existing connection was reused',
    }),
    dns: Milliseconds('Resolving the host name'),
    connect: Milliseconds('Connecting'),
    tls: Milliseconds('The TLS handshake'),
    firstByte: Milliseconds('From sending the request to the head of the response'),
    total: Type.Number({ description: 'The whole attempt' }),
  },
  {
    description: 'Milliseconds of each part; null for parts that did not occur or finish',
  },
)

export const AttemptView = closedObject({
  number: Type.Integer(),
  at: DateTime,
  url: nullable(Type.String({ description: 'The address that it was sent to; null if no request was made' })),
  status: nullable(Type.Integer()),
  durationMs: Type.Integer(),
  phases: nullable(PhasesView),
  error: nullable(Type.String({ description: 'The error message' })),
  failure: nullable(Type.String({ description: 'The kind of failure, a stable word such as `refused`' })),
  advice: nullable(Type.String({ description: 'A troubleshooting hint' })),
  requestHeaders: Headers,
  signature: nullable(
    Type.String({
      description:
        'The value of `webhook-signature`, computed again from the keys of that time that still exist. Null for five minutes, while a receiver would accept it; without such a key; and for payloads of more than 64 KiB',
    }),
  ),
  responseHeaders: nullable(Headers),
  responseBody: nullable(
    Type.String({ description: 'The first 64 KiB, as UTF-8; the first 4 KiB in the portal' }),
  ),
})

export function viewAttempt(row: AttemptsTable, signature: string | null): Static<typeof AttemptView> {
  const { [addressKey]: url = null, ...requestHeaders } = JSON.parse(row.request_headers) as Record<
    string,
    string
  >
  return {
    number: row.number,
    at: isoTime(row.at),
    url,
    status: row.status,
    durationMs: row.duration_ms,
    phases: row.phases === null ? null : viewPhases(row.phases),
    error: row.error,
    failure: row.failure,
    advice: troubleshootingHint(row.failure),
    requestHeaders,
    signature,
    responseHeaders:
      row.response_headers === null ? null : (JSON.parse(row.response_headers) as Record<string, string>),
    responseBody: row.response_body === null ? null : Buffer.from(row.response_body).toString(),
  }
}

/** Response headers that owners see: those that describe the response, and those that the service evaluates. */
const shownToOwners = new Set([
  'content-length',
  'content-type',
  'date',
  'location',
  'retry-after',
  'server',
  'webhook-delivery',
])

/** Bytes of a response body that owners see: enough for an error message, too few to read pages of a server. */
const bodyShownToOwners = 4 * 1024

/**
 * An attempt as an owner sees it: the usual headers, and only the beginning of the response body. Owners choose the address, and
 * a server may tell this service more than it tells them.
 */
export function viewAttemptForOwner(
  row: AttemptsTable,
  signature: string | null,
): Static<typeof AttemptView> {
  const responseBody = row.response_body && row.response_body.subarray(0, bodyShownToOwners)
  const view = viewAttempt({ ...row, response_body: responseBody }, signature)
  const headers = Object.entries(view.responseHeaders ?? {}).filter(([name]) => shownToOwners.has(name))
  return { ...view, responseHeaders: view.responseHeaders && Object.fromEntries(headers) }
}

function viewPhases(text: string): Static<typeof PhasesView> {
  const {
    reused,
    dns = null,
    connect = null,
    tls = null,
    firstByte = null,
    total,
  } = JSON.parse(text) as Phases
  return { reused, dns, connect, tls, firstByte, total }
}
