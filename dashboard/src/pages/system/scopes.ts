import type { BodyOf } from '../../api/answers.ts'

export type Scope = BodyOf<'POST /keys'>['scopes'][number]

/** Each scope with what it allows, in the order of the form. */
export const scopes: Record<Scope, string> = {
  'events:write': 'Emit events',
  'events:read': 'Read events with their payloads, and failed ones',
  'subscribers:read': 'Read subscribers and their deliveries',
  'subscribers:write': 'Change subscribers, rotate secrets, replay deliveries, make portal links',
  'webhooks:read': 'Read refused webhooks and the jobs of events',
  'webhooks:write': 'Run handlers of received events again, pause handlers',
  'users:read': 'Read users and where they are signed in',
  'users:write': 'Block and delete users, end their sessions; makes nobody an administrator',
  'clients:read': 'Read apps, without their secrets',
  'clients:write': 'Change apps and rotate their secrets',
  'lists:read': 'Read lists that are for administrators',
  'lists:write': 'Change products and posts',
  operate: 'Read metrics, queues and versions',
  admin: 'Everything',
}

/** The scope of everything. */
export const wide: Scope = 'admin'

export const scopeNames = Object.keys(scopes) as Scope[]
