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
