import { Type, type Static } from 'typebox'
import type { Phases } from '../network/exchange.ts'
import type { AttemptsTable, SubscribersTable } from '../storage/tables.ts'
import { troubleshootingHint } from './attempt/troubleshooting-hints.ts'
import { conditionOperators, type Condition } from './subscribers/conditions.ts'
import { redactedValue } from '../telemetry/redaction.ts'
import { showCustomHeaders } from './subscribers/custom-headers.ts'
import { deliveryStatuses } from './deliveries/delivery-filter.ts'
import { disablesAt, type DisablingPolicy } from './dispatch/disabling.ts'
import { addressKey } from './attempt/attempt.ts'
import type { DeliveryEntry, OwnedEntry } from './deliveries/delivery-log.ts'
import type { Summary } from './subscribers/health-summary.ts'
import { stateOf, subscriberStates } from './subscribers/subscriber-state.ts'
import type { KeyDescription } from './subscribers/secrets.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const Time = Type.String({ format: 'date-time' })

export const SubscriberView = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    description: Nullable(Type.String()),
    eventTypes: Type.Array(Type.String()),
    status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
    state: Type.Enum(subscriberStates, {
      description:
        'One word for all: disabled, paused, failing (see `failingSince`), idle (active, without an attempt in the last day), active',
    }),
    lastDay: Type.Object(
      {
        delivered: Type.Integer({ description: 'Attempts that succeeded' }),
        failed: Type.Integer({ description: 'Attempts that failed' }),
        successRate: Nullable(Type.Number({ description: '0 to 1; null without attempts' })),
        p99: Nullable(
          Type.Number({ description: 'Milliseconds within which 99 of 100 ended, rounded up to a class' }),
        ),
      },
      { additionalProperties: false, description: 'The last 24 hours, and the hour in which they begin' },
    ),
    disabledReason: Nullable(Type.String()),
    retrySchedule: Nullable(
      Type.Array(Type.Number(), { description: 'Seconds before each attempt; null: the service’s default' }),
    ),
    timeout: Nullable(Type.Number({ description: 'Seconds for one attempt; null: the service’s default' })),
    rateLimit: Nullable(Type.Number({ description: 'Attempts per second; null: no limit' })),
    concurrency: Nullable(Type.Integer({ description: 'Attempts at the same time; null: 10' })),
    headers: Type.Record(Type.String(), Type.String(), {
      description: `Additional headers; credentials are shown as ${redactedValue}`,
    }),
    ordered: Type.Boolean(),
    signing: Type.Union([Type.Literal('v1'), Type.Literal('v1a'), Type.Literal('both')]),
    httpSignature: Type.Boolean(),
    conditions: Type.Array(
      Type.Object({
        path: Type.String(),
        op: Type.Enum(conditionOperators),
        value: Type.Optional(Type.Unknown()),
      }),
    ),
    owner: Nullable(Type.String()),
    operational: Type.Boolean(),
    failingSince: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Since when deliveries fail; null while they succeed',
      }),
    ),
    disablesAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'When the next failure disables it, unless a delivery succeeds before',
      }),
    ),
    createdAt: Time,
    updatedAt: Time,
  },
  { additionalProperties: false },
)

/** New keys, which are shown once. */
export const NewKeysView = {
  secret: Type.Optional(Type.String({ description: 'whsec_…: verifies `v1` signatures. Shown only once.' })),
  publicKey: Type.Optional(Type.String({ description: 'whpk_…: verifies `v1a` signatures.' })),
}

/** The public facts about a signing key. */
export const KeyView = Type.Object(
  {
    id: Type.String({
      description: 'The id: `keyid` in HTTP message signatures, `kid` in the published keys',
    }),
    scheme: Type.Union([Type.Literal('v1'), Type.Literal('v1a')]),
    createdAt: Time,
    expiresAt: Nullable(Type.String({ format: 'date-time', description: 'Null for the newest key' })),
    publicKey: Nullable(Type.String({ description: 'whpk_…, of `v1a`' })),
  },
  { additionalProperties: false },
)

export function viewKey({
  id,
  scheme,
  createdAt,
  expiresAt,
  publicKey,
}: KeyDescription): Static<typeof KeyView> {
  return {
    id,
    scheme,
    createdAt: iso(createdAt),
    expiresAt: expiresAt === null ? null : iso(expiresAt),
    publicKey,
  }
}

export interface SubscriberFacts {
  headers: Readonly<Record<string, string>>
  policy: DisablingPolicy
  lastDay: Summary
}

export function viewSubscriber(
  row: SubscribersTable,
  { headers, policy, lastDay }: SubscriberFacts,
): Static<typeof SubscriberView> {
  const failing = { failingSince: row.failing_since, warnedAt: row.warned_at }
  const end = row.status === 'active' ? disablesAt(failing, policy) : null
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    eventTypes: JSON.parse(row.event_types) as string[],
    status: row.status,
    state: stateOf(row, lastDay),
    lastDay: {
      delivered: lastDay.delivered,
      failed: lastDay.failed,
      successRate: lastDay.successRate,
      p99: lastDay.p99,
    },
    disabledReason: row.disabled_reason,
    retrySchedule:
      row.retry_schedule === null
        ? null
        : (JSON.parse(row.retry_schedule) as number[]).map((ms) => ms / 1000),
    timeout: row.timeout_ms === null ? null : row.timeout_ms / 1000,
    rateLimit: row.rate_limit,
    concurrency: row.concurrency,
    headers: showCustomHeaders(headers),
    ordered: row.ordered === 1,
    signing: row.signing,
    httpSignature: row.http_signature === 1,
    conditions: row.conditions === null ? [] : (JSON.parse(row.conditions) as Condition[]),
    owner: row.owner,
    operational: row.operational === 1,
    failingSince: row.failing_since === null ? null : iso(row.failing_since),
    disablesAt: end === null ? null : iso(end),
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
  }
}

export const DeliveryView = Type.Object(
  {
    id: Type.Integer(),
    event: Type.Integer({ description: 'The event’s number in the log: GET /events/{id}' }),
    eventId: Type.String({ description: 'The stable id, sent as webhook-id' }),
    eventType: Type.String(),
    subscriberId: Type.String(),
    status: Type.Enum(deliveryStatuses, { description: 'dead: no further attempt follows' }),
    attemptCount: Type.Integer(),
    lastStatus: Nullable(Type.Integer({ description: 'HTTP status of the newest attempt' })),
    lastError: Nullable(Type.String()),
    nextAttemptAt: Nullable(Time),
    createdAt: Time,
    finishedAt: Nullable(Time),
  },
  { additionalProperties: false },
)

export function viewDelivery(entry: DeliveryEntry): Static<typeof DeliveryView> {
  return {
    id: entry.id,
    event: entry.event,
    eventId: entry.event_id,
    eventType: entry.type,
    subscriberId: entry.subscriber_id,
    status: entry.status,
    attemptCount: entry.attempts,
    lastStatus: entry.last_status,
    lastError: entry.last_error,
    nextAttemptAt: entry.status === 'pending' ? iso(entry.due_at) : null,
    createdAt: iso(entry.created_at),
    finishedAt: entry.finished_at === null ? null : iso(entry.finished_at),
  }
}

export const OwnedDeliveryView = Type.Object(
  {
    ...DeliveryView.properties,
    subscriberUrl: Type.String({ description: 'The address of the subscriber now' }),
    owner: Nullable(Type.String({ description: 'The owner of the subscriber' })),
  },
  { additionalProperties: false },
)

export function viewOwnedDelivery(entry: OwnedEntry): Static<typeof OwnedDeliveryView> {
  return { ...viewDelivery(entry), subscriberUrl: entry.url, owner: entry.owner }
}

const Headers = Type.Record(Type.String(), Type.String())
const Milliseconds = (description: string) => Nullable(Type.Number({ description }))

export const PhasesView = Type.Object(
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
    additionalProperties: false,
    description: 'Milliseconds of each part; null for parts that did not occur or finish',
  },
)

export const AttemptView = Type.Object(
  {
    number: Type.Integer(),
    at: Time,
    url: Nullable(
      Type.String({ description: 'The address that it was sent to; null if no request was made' }),
    ),
    status: Nullable(Type.Integer()),
    durationMs: Type.Integer(),
    phases: Nullable(PhasesView),
    error: Nullable(Type.String({ description: 'The error message' })),
    failure: Nullable(Type.String({ description: 'The kind of failure, a stable word such as `refused`' })),
    advice: Nullable(Type.String({ description: 'A troubleshooting hint' })),
    requestHeaders: Headers,
    signature: Nullable(
      Type.String({
        description:
          'What `webhook-signature` was, computed again from the keys of that time that are left. Null for five minutes, while a receiver would accept it; without such a key; and for payloads of more than 64 KiB',
      }),
    ),
    responseHeaders: Nullable(Headers),
    responseBody: Nullable(
      Type.String({ description: 'The first 64 KiB, as UTF-8; the first 4 KiB in the portal' }),
    ),
  },
  { additionalProperties: false },
)

export function viewAttempt(row: AttemptsTable, signature: string | null): Static<typeof AttemptView> {
  const { [addressKey]: url = null, ...requestHeaders } = JSON.parse(row.request_headers) as Record<
    string,
    string
  >
  return {
    number: row.number,
    at: iso(row.at),
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

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
