import { createClient, type Client, type ClientOptions } from './api/client.ts'
import type { Calls } from './api/calls.ts'
import { createSessions, type Sessions } from './session/sessions.ts'
import { createVerifier, type Verifier, type VerifierOptions } from './tokens/verifier.ts'

export * from './errors.ts'
export type { Fetch, HeaderSource } from './http.ts'
export type { Client, ClientOptions } from './api/client.ts'
export type { Calls } from './api/calls.ts'
export type { Session, Sessions, User, UserDemands } from './session/sessions.ts'
export type { AccessTokenClaims } from './tokens/claims.ts'
export type { TokenDemands, Verifier, VerifierOptions } from './tokens/verifier.ts'
export { verifyWebhook, type WebhookEvent, type WebhookOptions } from './webhooks.ts'

export type PosternOptions = ClientOptions & {
  /** For `verify`: the name of this API in `aud`. Default the service itself. The other settings are those of createVerifier. */
  tokens?: Partial<VerifierOptions> | undefined
}

/** Sessions, access tokens and calls of one service. */
export type Postern<C = Calls> = Sessions & Verifier & Client<C>

/** All that a server needs of a service; the subpaths of this package have each part alone. */
export function createPostern<C = Calls>(options: PosternOptions): Postern<C> {
  const { url, fetch, tokens } = options
  const issuer = url.replace(/(?<!\/)\/+$/, '')
  return {
    ...createClient<C>(options),
    ...createSessions({ url, fetch, timeout: options.timeout }),
    ...createVerifier({ issuer, audience: issuer, fetch, ...tokens }),
  }
}
