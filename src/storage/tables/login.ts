import type { Generated } from 'kysely'
import type { AuthenticationProof, SignInColumns } from './accounts.ts'

export interface LoginTables {
  flows: FlowsTable
  token_families: TokenFamiliesTable
  authorization_codes: AuthorizationCodesTable
  refresh_tokens: RefreshTokensTable
  signing_keys: SigningKeysTable
  provider_tokens: ProviderTokensTable
}

/** A sign-in in progress: one row per `state`, used by one atomic statement. */
export interface FlowsTable {
  state_hash: Uint8Array
  /** SHA-256 of the value of the browser's binding cookie. */
  browser_hash: Uint8Array
  provider: string
  callback_url: string
  purpose: 'login' | 'link'
  /** When linking: the user and session that started it. */
  user_id: string | null
  session_id: string | null
  return_to: string
  nonce: string | null
  /** The sealed PKCE verifier. */
  verifier: Uint8Array | null
  /** When an app (a public client) started it: what the app sent. */
  client_id: string | null
  client_redirect_uri: string | null
  client_state: string | null
  client_challenge: string | null
  /** 1: the person wants a new account, even if their address is that of another one. */
  new_user: number
  /** SHA-256 of the token of an invitation that the browser opened. */
  invitation: Uint8Array | null
  /** The sealed identity (JSON: VerifiedIdentity) whose person has to choose between linking it and a new user; null otherwise. */
  pending: Uint8Array | null
  /** The `state_hash` of the flow whose pending identity this sign-in links. */
  offer_hash: Uint8Array | null
  expires_at: number
  /** When the provider was asked for a new authentication; null if it was not. */
  reauthentication_asked_at: number | null
  /** When a callback used the state, and how that ended (JSON: FlowOutcome); null until then. */
  used_at: number | null
  outcome: string | null
}

/** One sign-in of one app. Its refresh tokens belong to it, and its access tokens name it as `sid`. */
export interface TokenFamiliesTable extends SignInColumns {
  client_id: string
  /** The browser's session that the app signed in with; null for a sign-in at GET /auth/{provider} or by a device code. */
  session_id: string | null
  /** The granted scopes, separated by spaces; null for a sign-in at GET /auth/{provider}, which has none. */
  scope: string | null
  /** The APIs that were asked for (RFC 8707), separated by spaces; null for those of the client's configuration. */
  resource: string | null
  /** What its request asked for by `claims` or `acr_values` (JSON: StoredClaims of oauth2); null for nothing. */
  claims: string | null
}

export interface AuthorizationCodesTable {
  code_hash: Uint8Array
  client_id: string
  redirect_uri: string
  /** The PKCE challenge (S256); null for a confidential client that sent none. */
  challenge: string | null
  /** As in token_families. */
  session_id: string | null
  scope: string | null
  resource: string | null
  /** For the id_token. */
  nonce: string | null
  /** As in token_families. */
  claims: string | null
  user_id: string
  provider: string
  /** Of the browser in which the user signed in. */
  address: string | null
  user_agent: string | null
  authenticated_at: number
  authentication_proof: AuthenticationProof | null
  /** As in sessions. */
  acr: string | null
  amr: string | null
  expires_at: number
  /** Set by its exchange. A second exchange revokes the token family of the first one. */
  used_at: number | null
  family_id: string | null
}

export interface RefreshTokensTable {
  token_hash: Uint8Array
  family_id: string
  /** The token that was exchanged for this one; null for the first of a family. */
  parent_hash: Uint8Array | null
  created_at: number
  expires_at: number
  used_at: number | null
  /** The address of its first use. */
  used_from: string | null
  /** How often it was accepted again, within the grace period. */
  replays: Generated<number>
}

export interface SigningKeysTable {
  kid: string
  algorithm: string
  public_jwk: string
  /** The sealed private JWK. */
  private_jwk: Uint8Array
  created_at: number
  /** When it starts to sign. It is published before, so that verifiers have it by then. */
  active_at: number
  /** When its signatures stop being accepted; null until there is a newer key. */
  retires_at: number | null
}

/** The tokens of an identity, if the configuration of the provider stores them. */
export interface ProviderTokensTable {
  provider: string
  provider_id: string
  /** Sealed. */
  access_token: Uint8Array
  /** Sealed; null if the provider issued none. */
  refresh_token: Uint8Array | null
  scope: string | null
  /** When the access token expires; null if the provider did not say. */
  expires_at: number | null
  updated_at: number
  /** The process that refreshes it now, and until when no other process does. */
  claim: string | null
  claimed_until: number | null
}

export interface ClientTables {
  clients: ClientsTable
  client_secrets: ClientSecretsTable
  client_origins: ClientOriginsTable
  used_assertions: UsedAssertionsTable
}

/** An application of the product that is not declared in the configuration module. */
export interface ClientsTable {
  /** `app_` and a UUID version 7. */
  id: string
  name: string
  /** Whether it must authenticate. It stays confidential when its last secret is gone. */
  confidential: number
  /** `api`: an admin or an API key made it. `registration`: it registered itself (RFC 7591). */
  origin: 'api' | 'registration'
  /** The fields of a declaration in the configuration module, without id, name and secret, as JSON. */
  settings: string
  created_at: number
  updated_at: number
  /** The address or IPv6 network that it registered from, for a day. */
  registered_from: string | null
}

export interface ClientSecretsTable {
  id: string
  client_id: string
  /** The first characters, which identify a secret in a list. */
  prefix: string
  secret_hash: Uint8Array
  created_at: number
  /** Set when a newer secret was made; null until then. */
  expires_at: number | null
}

/** The origins of redirect URIs: pages of these origins may call the token endpoint. */
export interface ClientOriginsTable {
  client_id: string
  origin: string
}

/** The `jti` of a client assertion (RFC 7523), which is accepted once. */
/** An assertion that must not be used again. */
export interface UsedAssertionsTable {
  /** The id of a client, or the issuer of an id_token. */
  issuer: string
  /** SHA-256 of the client's `jti`, or of the signed part of the id_token. */
  hash: Uint8Array
  expires_at: number
}

export interface OAuth2Tables {
  authorization_requests: AuthorizationRequestsTable
  consents: ConsentsTable
  device_codes: DeviceCodesTable
  backchannel_logouts: BackchannelLogoutsTable
}

/** An authorization request that waits for its user. */
export interface AuthorizationRequestsTable {
  /** SHA-256 of the random part of its `request_uri`. */
  request_hash: Uint8Array
  client_id: string
  /** JSON: pairs of name and value. */
  parameters: string
  /** 1 if the client pushed it (RFC 9126). */
  pushed: number
  /** SHA-256 of the cookie of the browser that it is parked in; null for a pushed one, and until the browser is known. */
  browser_hash: Uint8Array | null
  created_at: number
  expires_at: number
  /** When a person allowed or denied a parked request, and which; null until then. */
  used_at: number | null
  outcome: 'allowed' | 'denied' | null
}

/** An app that a user allowed, with the scopes of all of its consents. */
export interface ConsentsTable {
  user_id: string
  client_id: string
  /** Separated by spaces. */
  scope: string
  /** The APIs, separated by spaces. */
  resource: string
  granted_at: number
  /** When the user last allowed something. */
  updated_at: number
}

/** The request of a device without a browser (RFC 8628). */
export interface DeviceCodesTable {
  device_code_hash: Uint8Array
  /** HMAC-SHA256 of the code that the person types: it is too short for a plain hash. */
  user_code_hash: Uint8Array
  client_id: string
  /** Separated by spaces. */
  scope: string
  /** As in token_families. */
  resource: string | null
  /** Of the device. */
  address: string | null
  user_agent: string | null
  status: 'pending' | 'approved' | 'denied' | 'used'
  /** The user who decided, and that user's sign-in; null until then. */
  user_id: string | null
  provider: string | null
  authenticated_at: number | null
  authentication_proof: AuthenticationProof | null
  acr: string | null
  amr: string | null
  /** Milliseconds between two polls at least. */
  poll_interval: number
  polled_at: number | null
  created_at: number
  expires_at: number
}

/** A sign-in of an app that ended and that the app is not told of yet. */
export interface BackchannelLogoutsTable {
  /** The token family, `sid` in tokens. */
  family_id: string
  user_id: string
  client_id: string
  attempts: Generated<number>
  due_at: number
  /** Until when no other process sends it. */
  claimed_until: number | null
  created_at: number
  /** The logout address of a deleted app, and the algorithm of the token. Null: that of the app. */
  uri: Generated<string | null>
  algorithm: Generated<string | null>
}
