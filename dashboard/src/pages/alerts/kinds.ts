import type { RowOf } from '../../api/answers.ts'

export type Destination = RowOf<'GET /alerts'>
export type Sending = RowOf<'GET /alerts/{id}/sendings'>
export type Kind = Destination['kind']
export type ConditionKind = NonNullable<Destination['conditions']>[number]

export const kinds: Record<Kind, { label: string; hint: string }> = {
  email: { label: 'E-mail', hint: 'Needs the settings SMTP_URL and MAIL_FROM.' },
  slack: { label: 'Slack', hint: 'In Slack: your app, Incoming Webhooks, Add New Webhook to Workspace.' },
  discord: {
    label: 'Discord',
    hint: 'In Discord: the channel’s settings, Integrations, Webhooks, New Webhook.',
  },
  teams: {
    label: 'Microsoft Teams',
    hint: 'In Teams: the channel’s Workflows, “When a Teams webhook request is received”.',
  },
}

/** What adds a destination: “Add e-mail”, “Add Slack”. */
export const addText = (kind: Kind): string => `Add ${kind === 'email' ? 'e-mail' : kinds[kind].label}`

export const conditions: Record<ConditionKind, string> = {
  'subscriber-failing': 'A subscriber does not answer',
  'subscriber-disabled': 'A subscriber was disabled',
  'subscriber-secret-ends': 'A secret of a subscriber ends',
  'handler-failing': 'A handler fails',
  'work-stalls': 'Due work waits too long',
  'refusals-rising': 'Refused webhooks on the rise',
  'source-secret-ends': 'A secret of a source ends soon',
  'source-secret-ended': 'A secret of a source has ended',
  'key-expires': 'An API key expires soon',
  'disk-fills': 'A disk fills',
  spooling: 'Webhooks go to the spool',
  'spool-full': 'The spool is full',
  'spool-unavailable': 'The spool does not answer',
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
