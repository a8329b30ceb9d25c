import type { BodyOf } from '../../api/answers.ts'

export type Scope = BodyOf<'POST /keys'>['scopes'][number]

/** Each scope with what it allows, in the order of the form. */
export const scopes: Record<Scope, string> = {
  'events:write': 'Send events',
  'events:read': 'Read events with their payloads, and failures',
  'subscribers:read': 'Read endpoints and their deliveries',
  'subscribers:write': 'Edit endpoints, rotate secrets, replay deliveries, create portal links',
  'webhooks:read': 'Read rejected webhooks, handlers and event jobs',
  'webhooks:write': 'Run handlers again, pause handlers',
  'users:read': 'Read users and their sessions',
  'users:write': 'Block and delete users, end their sessions. Cannot grant the admin role',
  'clients:read': 'Read apps, without their secrets',
  'clients:write': 'Edit apps and rotate their secrets',
  'lists:read': 'Read lists for administrators',
  'lists:write': 'Edit rows of lists that allow it',
  svix: 'Use the Svix-compatible API',
  operate: 'Read metrics, queues and versions',
  admin: 'Everything',
}

/** The scope of everything. */
export const wide: Scope = 'admin'

export const scopeNames = Object.keys(scopes) as Scope[]

/** Usual choices of scopes. */
export const presets: readonly { label: string; scopes: readonly Scope[] }[] = [
  { label: 'Send events only', scopes: ['events:write'] },
  { label: 'Read only', scopes: scopeNames.filter((name) => name.endsWith(':read')) },
  { label: 'Everything', scopes: [wide] },
]
