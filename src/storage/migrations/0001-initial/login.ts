import { type AuthenticationProof, impersonation, signIn } from './accounts.ts'
import { table, tableByKey, typed } from './table.ts'

/** Sign-ins in progress, and the tokens that they end in: for apps, and of providers. */
export const login = {
  /**
   * One row for each sign-in in progress. GET /auth/{provider} inserts it, and the callback marks it as used, so that a state
   * is used once. The outcome stays for the same callback again. No foreign keys: the row lives for an hour, and the callback
   * compares user and session with the request's.
   */
  flows: table({
    state_hash: 'bytes primary key',
    /** SHA-256 of the value of the browser's binding cookie. */
    browser_hash: 'bytes not null',
    provider: 'text not null',
    callback_url: 'text not null',
    purpose: typed<'login' | 'link'>('text not null'),
    /** When linking: the user and session that started it. */
    user_id: 'text',
    session_id: 'text',
    return_to: 'text not null',
    nonce: 'text',
    /** The sealed PKCE verifier. */
    verifier: 'bytes',
    /** When the provider was asked for a new authentication; null if it was not. */
    reauthentication_asked_at: 'time',
    /** When an app (a public client) started it: what the app sent. */
    client_id: 'text',
    client_redirect_uri: 'text',
    client_state: 'text',
    client_challenge: 'text',
    /** 1: the person wants a new account, even if their address is that of another one. */
    new_user: 'integer not null',
    /** SHA-256 of the token of an invitation that the browser opened. */
    invitation: 'bytes',
    /** The sealed identity (JSON: VerifiedIdentity) whose person has to choose between linking it and a new user; null otherwise. */
    pending: 'bytes',
    /** The `state_hash` of the flow whose pending identity this sign-in links. */
    offer_hash: 'bytes',
    expires_at: 'time not null',
    /** When a callback used the state, and how that ended (JSON: FlowOutcome); null until then. */
    used_at: 'time',
    outcome: 'text',
    // For the sweeper.
    'index flows_by_end': '(expires_at)',
  }),

  /** One row for each sign-in of an app: its refresh tokens belong to it, and its access tokens name it as sid. */
  token_families: tableByKey({
    id: 'sortedText primary key',
    user_id: 'sortedText not null references users (id) on delete cascade',
    client_id: 'sortedText not null',
    ...signIn,
    /** The browser's session that the app signed in with; null for a sign-in at GET /auth/{provider} or by a device code. */
    session_id: 'sortedText',
    /** The granted scopes, separated by spaces; null for a sign-in at GET /auth/{provider}, which has none. */
    scope: 'text',
    /** The APIs that were asked for (RFC 8707), separated by spaces; null for those of the client's configuration. */
    resource: 'text',
    /** What its request asked for by `claims` or `acr_values` (JSON: StoredClaims of oauth2); null for nothing. */
    claims: 'text',
    ...impersonation,
    // For the list of a user's apps, and for the cascade. Revoked ones stay until the sweeper comes, and are passed over.
    'index token_families_of_user': '(user_id, revoked_at)',
    // For the end of the browser's session that the app signed in with.
    'index token_families_of_session': '(session_id) where session_id is not null',
    // For the list of an app's sign-ins, for the end of a client, and to see whether it was ever used.
    'index token_families_of_client': '(client_id, id)',
    // For the sweeper.
    'index token_families_by_end': '(expires_at)',
  }),

  /**
   * One row for each authorization code. The callback inserts it, and its exchange for tokens marks it as used.
   * family_id has no foreign key: it serves to revoke the family of a code that comes twice, and a deleted family has ended.
   */
  authorization_codes: table({
    code_hash: 'bytes primary key',
    client_id: 'text not null',
    redirect_uri: 'text not null',
    /** The PKCE challenge (S256); null for a confidential client that sent none. */
    challenge: 'text',
    /** As in token_families. */
    session_id: 'sortedText',
    scope: 'text',
    resource: 'text',
    /** For the id_token. */
    nonce: 'text',
    /** As in token_families. */
    claims: 'text',
    user_id: 'sortedText not null references users (id) on delete cascade',
    family_id: 'text',
    provider: 'text not null',
    /** Of the browser in which the user signed in. */
    address: 'text',
    user_agent: 'text',
    authenticated_at: 'time not null',
    authentication_proof: typed<AuthenticationProof | null>('sortedText'),
    /** As in sessions. */
    acr: 'sortedText',
    amr: 'sortedText',
    expires_at: 'time not null',
    /** Set by its exchange. A second exchange revokes the token family of the first one. */
    used_at: 'time',
    // For the sweeper.
    'index authorization_codes_by_end': '(expires_at)',
    // For the end of all sign-ins of a user, and for the cascade.
    'index authorization_codes_of_user': '(user_id)',
  }),

  /**
   * One row for each refresh token. POST /token inserts a new one at each use and marks the used one.
   * parent_hash has no foreign key: a token ends, and is deleted, before those that were issued for it.
   */
  refresh_tokens: tableByKey({
    token_hash: 'bytes primary key',
    family_id: 'sortedText not null references token_families (id) on delete cascade',
    /** The token that was exchanged for this one; null for the first of a family. */
    parent_hash: 'bytes',
    created_at: 'time not null',
    expires_at: 'time not null',
    used_at: 'time',
    /** The address of its first use. */
    used_from: 'sortedText',
    /** How often it was accepted again, within the grace period. */
    replays: 'bigint not null default 0',
    // For the cascade.
    'index refresh_tokens_of_family': '(family_id)',
    // For the sweeper.
    'index refresh_tokens_by_end': '(expires_at)',
    // A used token that comes again: finds the tokens that were issued for it, and whether one of them was used.
    'index refresh_tokens_of_parent': '(parent_hash) where parent_hash is not null',
  }),

  /** One row for each key that signs access tokens. A rotation inserts it; it is deleted when no valid token needs it. */
  signing_keys: table({
    kid: 'text primary key',
    algorithm: 'text not null',
    public_jwk: 'text not null',
    /** The sealed private JWK. */
    private_jwk: 'bytes not null',
    created_at: 'time not null',
    /** When it starts to sign. It is published before, so that verifiers have it by then. */
    active_at: 'time not null',
    /** When its signatures stop being accepted; null until there is a newer key. */
    retires_at: 'time',
  }),

  /** One row for each identity whose provider tokens are stored, by configuration. A sign-in or a refresh writes it. */
  provider_tokens: table({
    provider: 'text not null',
    provider_id: 'text not null',
    /** Sealed. */
    access_token: 'bytes not null',
    /** Sealed; null if the provider issued none. */
    refresh_token: 'bytes',
    scope: 'text',
    /** When the access token expires; null if the provider did not say. */
    expires_at: 'time',
    updated_at: 'time not null',
    /** The process that refreshes it now, and until when no other process does. */
    claim: 'text',
    claimed_until: 'time',
    'primary key': '(provider, provider_id)',
    'foreign key': '(provider, provider_id) references identities (provider, provider_id) on delete cascade',
    // Sealed values name their master key in bytes 2 to 5. A start finds values that it cannot open by one seek for each key.
    'index provider_tokens_access_token_master_key': '(substr(access_token, 2, 4))',
    'index provider_tokens_refresh_token_master_key': '(substr(refresh_token, 2, 4))',
  }),
}

/** The applications of the product that are not declared in the configuration module. */
export const clients = {
  /** One row for each client. An admin, an API key or a registration inserts it. */
  clients: table({
    /** `app_` and a UUID version 7. */
    id: 'sortedText primary key',
    name: 'text not null',
    /** Whether it must authenticate. It stays confidential when its last secret is gone. */
    confidential: 'integer not null',
    /** `api`: an admin or an API key made it. `registration`: it registered itself (RFC 7591). */
    origin: typed<'api' | 'registration'>('text not null'),
    /** The fields of a declaration in the configuration module, without id, name and secret, as JSON. */
    settings: 'text not null',
    created_at: 'time not null',
    updated_at: 'time not null',
    /** The address or IPv6 network that it registered from, for a day. */
    registered_from: 'text',
    // For the sweeper, which deletes registered clients that were never used.
    'index clients_registered': "(created_at) where origin = 'registration'",
    // For each registration, which counts the unused ones of its address.
    'index clients_registered_from': '(registered_from, created_at) where registered_from is not null',
  }),

  /** One row for each secret of a confidential client, two at most. A rotation inserts one and ends the older one. */
  client_secrets: table({
    id: 'sortedText primary key',
    client_id: 'sortedText not null references clients (id) on delete cascade',
    /** The first characters, which identify a secret in a list. */
    prefix: 'text not null',
    secret_hash: 'bytes not null',
    created_at: 'time not null',
    /** Set when a newer secret was made; null until then. */
    expires_at: 'time',
    // For each authentication of the client, and for the cascade.
    'index client_secrets_of_client': '(client_id)',
    // For the sweeper.
    'index client_secrets_by_end': '(expires_at) where expires_at is not null',
  }),

  /** One row for each origin of a client's redirect URIs, whose pages may call the token endpoint. Written with the client. */
  client_origins: tableByKey({
    origin: 'sortedText not null',
    client_id: 'sortedText not null references clients (id) on delete cascade',
    'primary key': '(origin, client_id)',
    // For changes of the client, and for the cascade.
    'index client_origins_of_client': '(client_id)',
  }),

  /** One row for each assertion that was used: of a client, whose id is the issuer, or an id_token that a native app sent. */
  used_assertions: tableByKey({
    /** The id of a client, or the issuer of an id_token. */
    issuer: 'sortedText not null',
    /** SHA-256 of the client's `jti`, or of the signed part of the id_token. */
    hash: 'bytes not null',
    expires_at: 'time not null',
    'primary key': '(issuer, hash)',
    // For the sweeper.
    'index used_assertions_by_end': '(expires_at)',
  }),
}

/** What the OpenID Provider stores besides tokens: waiting requests, consents, device codes, and notices of ended sign-ins. */
export const oauth2 = {
  /** One row for each authorization request that waits for its user: pushed by the client, or parked during a sign-in. */
  authorization_requests: table({
    /** SHA-256 of the random part of its `request_uri`. */
    request_hash: 'bytes primary key',
    client_id: 'text not null',
    /** JSON: pairs of name and value. */
    parameters: 'text not null',
    /** 1 if the client pushed it (RFC 9126). */
    pushed: 'integer not null',
    /** SHA-256 of the cookie of the browser that it is parked in; null for a pushed one, and until the browser is known. */
    browser_hash: 'bytes',
    created_at: 'time not null',
    expires_at: 'time not null',
    /** When a person allowed or denied a parked request, and which; null until then. */
    used_at: 'time',
    outcome: typed<'allowed' | 'denied' | null>('text'),
    // For the sweeper.
    'index authorization_requests_by_end': '(expires_at)',
  }),

  /** One row for each app that a user allowed. The consent page inserts it. No foreign key: apps may be in the configuration. */
  consents: tableByKey({
    user_id: 'sortedText not null references users (id) on delete cascade',
    client_id: 'sortedText not null',
    /** Of all of its consents, separated by spaces. */
    scope: 'text not null',
    /** The APIs, separated by spaces. */
    resource: 'text not null',
    granted_at: 'time not null',
    /** When the user last allowed something. */
    updated_at: 'time not null',
    'primary key': '(user_id, client_id)',
    // For the end of a client.
    'index consents_of_client': '(client_id)',
  }),

  /** One row for each device that asks for a sign-in (RFC 8628). The device inserts it and polls it; a user approves it. */
  device_codes: table({
    device_code_hash: 'bytes primary key',
    /** HMAC-SHA256 of the code that the person types: it is too short for a plain hash. */
    user_code_hash: 'bytes not null unique',
    client_id: 'text not null',
    /** Separated by spaces. */
    scope: 'text not null',
    /** As in token_families. */
    resource: 'text',
    /** Of the device. */
    address: 'text',
    user_agent: 'text',
    status: typed<'pending' | 'approved' | 'denied' | 'used'>('text not null'),
    /** The user who decided, and that user's sign-in; null until then. */
    user_id: 'sortedText references users (id) on delete cascade',
    provider: 'text',
    authenticated_at: 'time',
    authentication_proof: typed<AuthenticationProof | null>('sortedText'),
    acr: 'sortedText',
    amr: 'sortedText',
    /** Milliseconds between two polls at least. */
    poll_interval: 'bigint not null',
    polled_at: 'time',
    created_at: 'time not null',
    expires_at: 'time not null',
    // For the sweeper.
    'index device_codes_by_end': '(expires_at)',
    // For the cascade.
    'index device_codes_of_user': '(user_id) where user_id is not null',
  }),

  /**
   * One row for each ended sign-in of an app, until the app has been notified (OpenID Connect Back-Channel Logout).
   * The transaction that ends the sign-in inserts it. No foreign keys: it outlives the token family.
   */
  backchannel_logouts: tableByKey({
    /** The token family, `sid` in tokens. */
    family_id: 'sortedText primary key',
    user_id: 'sortedText not null',
    client_id: 'text not null',
    attempts: 'bigint not null default 0',
    due_at: 'time not null',
    /** Until when no other process sends it. */
    claimed_until: 'time',
    created_at: 'time not null',
    /** The logout address of a deleted app, and the algorithm of the token. Null: that of the app. */
    uri: 'text',
    algorithm: 'text',
    // For the worker that sends them.
    'index backchannel_logouts_due': '(due_at)',
  }),
}
