import type { BodyOf } from '../../api/answers.ts'

export type Scope = BodyOf<'POST /keys'>['scopes'][number]

/** Each scope with what it allows, in the order of the form. */
export const scopes: Record<Scope, string> = {
  'events:write': 'Emit events',
  'events:read': 'Read events with their payloads, and failed ones',
  'subscribers:read': 'Read subscribers and their deliveries',
  'subscribers:write': 'Change subscribers, rotate secrets, replay deliveries, make portal links',
  'webhooks:read': 'Read refused webhooks and the jobs of events',
  'webhooks:write': 'Run handlers of received events again',
  'users:read': 'Read users and where they are signed in',
  'users:write': 'Block users and change their roles',
  'clients:read': 'Read apps, without their secrets',
  'clients:write': 'Change apps and rotate their secrets',
  'lists:read': 'Read lists that are for administrators',
  'lists:write': 'Change products and posts',
  operate: 'Read metrics, queues and versions',
  admin: 'Everything',
}

/** Scopes that are as good as everything. */
export const wide: ReadonlySet<string> = new Set<Scope>(['admin', 'users:write'])

export const scopeNames = Object.keys(scopes) as Scope[]
