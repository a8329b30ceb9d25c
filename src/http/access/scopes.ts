/**
 * The scopes of API keys. Every route that is for administrators names one; a key reaches the routes of its scopes and no
 * others. A `:write` scope does not imply its `:read` scope. `admin` reaches every route.
 */
export const scopes = {
  'events:read': 'Read events with their payloads, including failed ones.',
  'events:write': 'Emit events.',
  'subscribers:read': 'Read subscribers, their deliveries, health and replay jobs.',
  'subscribers:write':
    'Create, edit and delete subscribers, rotate their secrets, send test events, replay deliveries, create portal links.',
  'users:read': 'Read users with their sessions, identities, apps and audit log, and identity providers.',
  'users:write':
    'Block, unblock and delete users, remove the admin role, end sessions, check identity providers. Granting the admin role, or unblocking an administrator, needs `admin`.',
  'clients:read': 'Read the apps that sign in here, without their secrets.',
  'clients:write':
    'Create, edit and delete apps that read only the profiles of their users, and rotate their secrets. First-party apps, machine clients, audiences and other scopes need `admin`.',
  'lists:read': "Read the declared lists. A list restricted to its caller's rows is empty for a key.",
  'lists:write': 'Create, change and delete products and posts.',
  'webhooks:read': 'Read rejected webhooks and reprocessing jobs.',
  'webhooks:write': 'Reprocess received events and pause handlers. A dry run also needs `events:read`.',
  operate: 'Read metrics, queues and versions, and a private API reference.',
  admin: 'Everything, including the audit log.',
} as const satisfies Record<string, string>

export type Scope = keyof typeof scopes

/** One scope, or several of which any is enough. */
export type ScopeChoice = Scope | readonly Scope[]

export function isScope(text: string): text is Scope {
  return Object.hasOwn(scopes, text)
}

/** The scopes of a choice as an array. */
export function scopesOf(choice: ScopeChoice): readonly Scope[] {
  return typeof choice === 'string' ? [choice] : choice
}

/** Whether credentials with the scopes `held` may do what asks for any of the scopes of `choice`. */
export function holdsScope(held: readonly Scope[], choice: ScopeChoice): boolean {
  return held.includes('admin') || scopesOf(choice).some((scope) => held.includes(scope))
}
