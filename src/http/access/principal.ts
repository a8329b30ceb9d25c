import type { FastifyRequest } from 'fastify'
import type { Role } from '../../storage/tables.ts'

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
    'Invite, block, unblock and delete users, remove the admin role, end sessions, check identity providers. Granting the admin role or groups, or unblocking an administrator, needs `admin`.',
  'clients:read': 'Read the apps that sign in here, without their secrets.',
  'clients:write':
    'Create, edit and delete apps that read only the profiles of their users, and rotate their secrets. First-party apps, machine clients, audiences and other scopes need `admin`.',
  'lists:read': "Read the declared lists. A list restricted to its caller's rows is empty for a key.",
  'lists:write': 'Create, change and delete products and posts.',
  'webhooks:read': 'Read rejected webhooks and reprocessing jobs.',
  'webhooks:write': 'Reprocess received events and pause handlers. A dry run also needs `events:read`.',
  svix: 'Call the Svix-compatible API below `/api/v1`, as the Svix client libraries do.',
  operate: 'Read metrics, queues and versions, and a private API reference.',
  admin: 'Everything, including the audit log.',
} as const satisfies Record<string, string>

export type Scope = keyof typeof scopes

/** One scope, or several of which any is enough. */
export type ScopeChoice = Scope | readonly Scope[]

export function isScope(text: string): text is Scope {
  return Object.hasOwn(scopes, text)
}

/** How an admin signs in with a second factor. */
export interface StepUp {
  path: string
  /** Values of `acr` that prove one, for `acr_values`; empty if the provider decides. */
  acrValues: readonly string[]
}

/** Who makes a request, as far as its credential tells. */
export interface Principal {
  /** How they showed it: the session cookie, an API key, an access token, or the cookie of the portal. */
  kind: 'session' | 'key' | 'token' | 'portal'
  role: Role
  /** What an API key or an access token may do besides what the role allows. A key may also have scopes of applications. */
  scopes?: readonly string[]
  /** The user behind a session or an access token; an API key has none. */
  userId?: string
  sessionId?: string
  keyId?: string
  /** Set for an admin who has to sign in with a second factor before the admin role counts (`role` is then `user`). */
  stepUp?: StepUp
  /** Set for an access token: the app's client id, when the app may see and end only its own sessions of the user. */
  onlyApp?: string
  /** Set for the token of an app that is not the product's own: it may call only what its scopes name. */
  onlyScopes?: true
  /** The app that an access token was issued to. */
  clientId?: string
  /** The claims of an access token, those of `login.claims` included. */
  claims?: Readonly<Record<string, unknown>>
  /** Whose subscribers the portal is open for. */
  owner?: string
  /**
   * The admin who acts for the user `userId`. The caller may read, and otherwise use only routes with `whileImpersonating`.
   * `sessionId` is the admin's own session, if the credential is a session.
   */
  impersonator?: { userId: string; sessionId?: string }
}

/**
 * Reads the request's credential. `undefined` when it has none.
 * @throws Problem `not-signed-in` when it has one that is not (or no longer) valid.
 */
export type Authenticate = (request: FastifyRequest) => Promise<Principal | undefined>

/**
 * What a route asks for. `public`: nothing. `user`: any signed-in user (session or access token). `session`: a signed-in
 * browser, since the call is about its session. `{ scope }`: a session of an admin, an admin's token of an app that is for
 * admins, or an API key with one of the scopes or with `admin`; with `orUser` also any signed-in user, and with `orOwner` also
 * an owner's token of the Svix-compatible API, which reaches only that owner's objects. `portal`: the cookie of the portal and no other
 * credential; what is called is then the owner's own.
 */
export type Access =
  | 'public'
  | 'user'
  | 'session'
  | 'portal'
  | { readonly scope: ScopeChoice; readonly orUser?: true; readonly orOwner?: true }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** A missing body is read as an empty object. */
    optionalBody?: boolean
    /** In demo mode it needs no credential, from this machine. */
    openInDemo?: boolean
    /** Available to an admin who acts for a user, although it changes something. */
    whileImpersonating?: true
  }
  interface FastifyRequest {
    principal: Principal | undefined
  }
}
