import type { RowOf } from '../../api/answers.ts'

export type Destination = RowOf<'GET /alerts'>
export type Sending = RowOf<'GET /alerts/{id}/sendings'>
export type Kind = Destination['kind']
export type ConditionKind = NonNullable<Destination['conditions']>[number]

export const kinds: Record<Kind, { label: string; hint: string }> = {
  email: { label: 'Email', hint: 'Requires the settings SMTP_URL and MAIL_FROM.' },
  slack: { label: 'Slack', hint: 'In Slack: your app › Incoming Webhooks › Add New Webhook to Workspace.' },
  discord: {
    label: 'Discord',
    hint: 'In Discord: channel settings › Integrations › Webhooks › New Webhook.',
  },
  teams: {
    label: 'Microsoft Teams',
    hint: 'In Teams: the channel’s Workflows › “When a Teams webhook request is received”.',
  },
}

/** The title of the form: “Add email destination”. */
export const addText = (kind: Kind): string =>
  `Add ${kind === 'email' ? 'email' : kinds[kind].label} destination`

export const conditions: Record<ConditionKind, string> = {
  'subscriber-failing': 'Endpoint failing',
  'subscriber-disabled': 'Endpoint disabled',
  'subscriber-secret-ends': 'Endpoint secret expires soon',
  'handler-failing': 'Handler failing',
  'event-loop': 'Event loop stopped',
  'work-stalls': 'Queue delayed',
  'refusals-rising': 'More rejected webhooks than usual',
  'source-secret-ends': 'Source secret expires soon',
  'source-secret-ended': 'Source secret expired',
  'key-expires': 'API key expires soon',
  'disk-fills': 'Disk almost full',
  spooling: 'Database down: webhooks are being spooled',
  'spool-full': 'Spool full',
  'spool-unavailable': 'Spool unavailable',
}
export const conditionKinds = Object.keys(conditions) as ConditionKind[]

export const repeats = [
  { value: '3600', label: 'Every hour' },
  { value: '14400', label: 'Every 4 hours' },
  { value: '86400', label: 'Every day' },
  { value: '', label: 'Never' },
]
export const what: Record<Sending['what'], string> = {
  opened: 'Opened',
  repeated: 'Reminder',
  resolved: 'Resolved',
  test: 'Test',
}
