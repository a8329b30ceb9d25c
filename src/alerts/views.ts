import { Type, type Static } from 'typebox'
import { attentionKinds } from '../http/attention.ts'
import { closedObject, DateTime, DisplayName, nullable } from '../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import type { Destination } from './destinations.ts'
import type { SendingRow } from './sendings.ts'

export const Sending = closedObject({
  id: Type.String(),
  what: Type.Enum(['opened', 'repeated', 'resolved', 'test']),
  subject: Type.String(),
  status: Type.Enum(['pending', 'sent', 'failed']),
  attempts: Type.Integer(),
  error: nullable(Type.String(), 'Why the last attempt failed'),
  createdAt: DateTime,
  nextAttemptAt: nullable(DateTime),
  finishedAt: nullable(DateTime),
})

export const kinds = ['email', 'slack', 'discord', 'teams'] as const
const settings = {
  name: DisplayName,
  conditions: nullable(
    Type.Array(Type.Enum(attentionKinds), { minItems: 1, maxItems: attentionKinds.length }),
    'The kinds of matters, as in `GET /attention`; null: all',
  ),
  severity: Type.Enum(['warning', 'error'], { description: '`error`: only what fails now, no warnings' }),
  repeatSeconds: nullable(
    Type.Integer({ minimum: 600, maximum: 2_592_000 }),
    'After this time a condition that lasts is sent again; null: never',
  ),
  enabled: Type.Boolean(),
}
const address = {
  url: Type.Optional(
    Type.String({
      maxLength: 2048,
      description: 'Slack, Discord, Teams: the address of the incoming webhook',
    }),
  ),
  to: Type.Optional(
    Type.Array(
      Type.String({
        maxLength: 254,
        pattern: '^[^\\s@<>,;:"]+@[^\\s@<>,;:"]+$',
        description: 'An e-mail address, such as ops@example.com',
      }),
      { minItems: 1, maxItems: 10, description: 'E-mail: the addresses' },
    ),
  ),
}

export const NewDestination = closedObject({
  kind: Type.Enum(kinds),
  name: settings.name,
  ...address,
  conditions: Type.Optional(settings.conditions),
  severity: Type.Optional(settings.severity),
  repeatSeconds: Type.Optional(settings.repeatSeconds),
  enabled: Type.Optional(settings.enabled),
})
export const DestinationChange = closedObject(
  {
    ...address,
    ...Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, Type.Optional(schema)])),
  } as typeof address & {
    [K in keyof typeof settings]: ReturnType<typeof Type.Optional<(typeof settings)[K]>>
  },
  { minProperties: 1 },
)

export const DestinationView = closedObject({
  id: Type.String(),
  kind: Type.Enum(kinds),
  ...settings,
  host: nullable(Type.String(), 'The host of the incoming webhook, whose address is not shown'),
  to: nullable(Type.Array(Type.String()), 'The addresses of e-mail'),
  createdAt: DateTime,
  updatedAt: DateTime,
  lastSending: nullable(Sending),
})

export function viewSending(row: SendingRow): Static<typeof Sending> {
  return {
    id: row.id,
    what: row.what,
    subject: row.subject,
    status: row.status,
    attempts: row.attempts,
    error: row.error,
    createdAt: isoTime(row.created_at),
    nextAttemptAt: row.status === 'pending' ? isoTime(row.due_at) : null,
    finishedAt: isoTimeOrNull(row.finished_at),
  }
}

export function viewDestination({ row, target, lastSending }: Destination): Static<typeof DestinationView> {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    conditions:
      row.conditions === null ? null : (JSON.parse(row.conditions) as (typeof attentionKinds)[number][]),
    severity: row.severity,
    repeatSeconds: row.repeat_ms === null ? null : row.repeat_ms / 1000,
    enabled: row.enabled === 1,
    host: target.kind === 'email' ? null : new URL(target.url).host,
    to: target.kind === 'email' ? target.to : null,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    lastSending: lastSending ? viewSending(lastSending) : null,
  }
}
