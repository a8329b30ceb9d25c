import { Type, type Static } from 'typebox'
import { closedObject, DateTime, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { conditionOperators, type Condition } from '../subscribers/conditions.ts'
import { redactedValue } from '../../telemetry/redaction.ts'
import { showCustomHeaders } from '../subscribers/custom-headers.ts'
import { disablesAt, type DisablingPolicy } from '../dispatch/disabling.ts'
import type { Summary } from '../subscribers/health-summary.ts'
import { stateOf, subscriberStates } from '../subscribers/subscriber-state.ts'
import type { KeyDescription } from '../subscribers/secrets.ts'

export const SubscriberView = closedObject({
  id: Type.String(),
  url: Type.String(),
  description: nullable(Type.String()),
  eventTypes: Type.Array(Type.String()),
  status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
  state: Type.Enum(subscriberStates, {
    description:
      'One word for all: disabled, paused, failing (see `failingSince`), idle (active, without an attempt in the last day), active',
  }),
  lastDay: closedObject(
    {
      delivered: Type.Integer({ description: 'Attempts that succeeded' }),
      failed: Type.Integer({ description: 'Attempts that failed' }),
      successRate: nullable(Type.Number({ description: '0 to 1; null without attempts' })),
      p99: nullable(
        Type.Number({ description: 'Milliseconds within which 99 of 100 ended, rounded up to a class' }),
      ),
    },
    { description: 'The last 24 hours, and the hour in which they begin' },
  ),
  disabledReason: nullable(Type.String()),
  retrySchedule: nullable(
    Type.Array(Type.Number(), { description: 'Seconds before each attempt; null: the service’s default' }),
  ),
  timeout: nullable(Type.Number({ description: 'Seconds for one attempt; null: the service’s default' })),
  rateLimit: nullable(Type.Number({ description: 'Attempts per second; null: no limit' })),
  concurrency: nullable(Type.Integer({ description: 'Attempts at the same time; null: 10' })),
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
  owner: nullable(Type.String()),
  ownerName: nullable(Type.String({ description: 'The display name of the owner' })),
  operational: Type.Boolean(),
  failingSince: nullable(
    Type.String({
      format: 'date-time',
      description: 'Since when deliveries fail; null while they succeed',
    }),
  ),
  disablesAt: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the next failure disables it, unless a delivery succeeds before',
    }),
  ),
  createdAt: DateTime,
  updatedAt: DateTime,
})

/** New keys, which are shown once. */
export const NewKeysView = {
  secret: optionalText('whsec_…: verifies `v1` signatures. Shown only once.'),
  publicKey: optionalText('whpk_…: verifies `v1a` signatures.'),
}

/** The public facts about a signing key. */
export const KeyView = closedObject({
  id: Type.String({
    description: 'The id: `keyid` in HTTP message signatures, `kid` in the published keys',
  }),
  scheme: Type.Union([Type.Literal('v1'), Type.Literal('v1a')]),
  createdAt: DateTime,
  expiresAt: nullable(Type.String({ format: 'date-time', description: 'Null for the newest key' })),
  publicKey: nullable(Type.String({ description: 'whpk_…, of `v1a`' })),
})

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
    createdAt: isoTime(createdAt),
    expiresAt: isoTimeOrNull(expiresAt),
    publicKey,
  }
}

export interface SubscriberFacts {
  headers: Readonly<Record<string, string>>
  policy: DisablingPolicy
  lastDay: Summary
  ownerName: string | undefined
}

export function viewSubscriber(
  row: SubscribersTable,
  { headers, policy, lastDay, ownerName }: SubscriberFacts,
): Static<typeof SubscriberView> {
  const failing = { failingSince: row.failing_since, warnedAt: row.warned_at }
  const mayEnd = row.status === 'active' && row.operational === 0
  const end = mayEnd ? disablesAt(failing, policy) : null
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
    ownerName: ownerName ?? null,
    operational: row.operational === 1,
    failingSince: isoTimeOrNull(row.failing_since),
    disablesAt: isoTimeOrNull(end),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  }
}
