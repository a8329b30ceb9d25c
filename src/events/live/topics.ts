/** What a page can follow. A `changed` message names the topics of which something changed. */
export const topics = [
  'alerts',
  'apps',
  'audit',
  'customers',
  'data',
  'deliveries',
  'failures',
  'handlers',
  'jobs',
  'keys',
  'sources',
  'subscribers',
  'users',
] as const

export type Topic = (typeof topics)[number]

/** The topics of audit actions, by the part of the action's name before the dot. */
const ofActions: Readonly<Record<string, readonly Topic[]>> = {
  alert: ['alerts'],
  app: ['apps', 'users'],
  client: ['apps'],
  customer: ['customers'],
  delivery: ['deliveries'],
  device: ['apps', 'users'],
  event: ['failures'],
  failure: ['failures'],
  handler: ['handlers', 'failures'],
  identity: ['users'],
  import: ['jobs', 'data'],
  item: ['data'],
  job: ['jobs'],
  key: ['keys'],
  list: ['data'],
  portal: ['customers'],
  replay: ['jobs', 'deliveries'],
  reprocess: ['jobs', 'failures'],
  session: ['users'],
  sign_in: ['users'],
  source: ['sources'],
  subscriber: ['subscribers', 'customers'],
  tokens: ['apps', 'users'],
  user: ['users'],
}

/** The topics that an entry of the audit log is about. */
export function topicsOfAction(action: string): readonly Topic[] {
  const subject = action.split('.', 1)[0]!
  return ['audit', ...(Object.hasOwn(ofActions, subject) ? ofActions[subject]! : [])]
}
