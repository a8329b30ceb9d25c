/** What can need a person. The names are stable, because destinations of alerts choose by them. */
export const conditionKinds = [
  'subscriber-disabled',
  'subscriber-failing',
  'handler-failing',
  'work-stalled',
  'webhooks-refused',
  'secret-ending',
  'key-ending',
  'disk-filling',
] as const
export type ConditionKind = (typeof conditionKinds)[number]

/** Something that needs a person, for as long as it lasts. */
export interface Condition {
  kind: ConditionKind
  severity: 'warning' | 'critical'
  /** The subject, such as `subscriber:…` or `handler:…`: with the kind, it identifies the condition. */
  about: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** One sentence in plain English. */
  text: string
  /** The path of the page that shows it, below BASE_URL. */
  path: string
}
