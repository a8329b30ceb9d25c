import type { FastifyRequest } from 'fastify'
import type { Role } from '../../storage/tables.ts'
import type { Scope, ScopeChoice } from './scopes.ts'

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
  /** What an API key or an access token may do besides what the role allows. */
  scopes?: readonly Scope[]
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
  /** Whose subscribers the portal is open for. */
  owner?: string
}

/**
 * Reads the request's credential. `undefined` when it has none.
 * @throws Problem `not-signed-in` when it has one that is not (or no longer) valid.
 */
export type Authenticate = (request: FastifyRequest) => Promise<Principal | undefined>

/**
 * What a route asks for. `public`: nothing. `user`: any signed-in user (session or access token). `session`: a signed-in
 * browser, since the call is about its session. `{ scope }`: a session of an admin, an admin's token of an app that is for
 * admins, or an API key with one of the scopes or with `admin`; with `orUser` also any signed-in user. `portal`: the
 * cookie of the portal and no other credential; what is called is then the owner's own.
 */
export type Access =
  | 'public'
  | 'user'
  | 'session'
  | 'portal'
  | { readonly scope: ScopeChoice; readonly orUser?: true }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** A missing body is read as an empty object. */
    optionalBody?: boolean
    /** In demo mode it needs no credential, from this machine. */
    openInDemo?: boolean
  }
  interface FastifyRequest {
    principal: Principal | undefined
  }
}
