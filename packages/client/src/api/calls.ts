// Generated from the route schemas by `npm run docs`; do not edit.
/** The calls of the service by method and path. */
export interface Calls {
  /** Liveness: the process runs */
  'GET /healthz': {
    answer: { status: "ok" }
  }
  /** Readiness: the database responds, workers keep up, and the process is not stopping */
  'GET /readyz': {
    query?: { for?: string | undefined }
    answer: { status: string; database: string; oldestDueSeconds: Record<string, number>; lastRoundSeconds?: Record<string, number>; spool?: { status: "ok" | "full" | "unavailable"; events?: number; oldestSeconds?: number } }
  }
  /** Counts, failures and durations over time */
  'GET /metrics/history': {
    query?: { series?: string | undefined; source?: string | undefined; range?: string | undefined; from?: string | undefined; to?: string | undefined }
    answer: { from: string; until: string; step: number; series: { webhooks?: { total: { ok: number; failed: number; duplicates: number; p50: number | null; p99: number | null }; ok: (number)[]; failed: (number)[]; duplicates: (number)[]; p50: (number | null)[]; p99: (number | null)[] }; handlers?: { total: { ok: number; failed: number; duplicates: number; p50: number | null; p99: number | null }; ok: (number)[]; failed: (number)[]; duplicates: (number)[]; p50: (number | null)[]; p99: (number | null)[] }; deliveries?: { total: { ok: number; failed: number; duplicates: number; p50: number | null; p99: number | null }; ok: (number)[]; failed: (number)[]; duplicates: (number)[]; p50: (number | null)[]; p99: (number | null)[] }; signIns?: { total: { ok: number; failed: number; duplicates: number; p50: number | null; p99: number | null }; ok: (number)[]; failed: (number)[]; duplicates: (number)[]; p50: (number | null)[]; p99: (number | null)[] }; oldestDue?: { total: { ok: number; failed: number; duplicates: number; p50: number | null; p99: number | null }; ok: (number)[]; failed: (number)[]; duplicates: (number)[]; p50: (number | null)[]; p99: (number | null)[] } } }
  }
  /** The setup checklist and its progress */
  'GET /checklist': {
    answer: { done: boolean; steps: ({ id: string; title: string; detail: string; command: string; done: boolean })[] }
  }
  /** Open alerts, most urgent first */
  'GET /attention': {
    answer: { data: ({ kind: string; severity: "error" | "warning"; text: string; since: string | null; about: { topic: "handler" | "subscriber" | "source" | "key" | "worker" | "database" | "spool"; id: string } })[] }
  }
  /** This OpenAPI document */
  'GET /openapi.json': {
    answer: Record<string, unknown>
  }
  /** The meaning of a problem, and the fix */
  'GET /problems/{code}': {
    params: { code: string }
    answer: { code: string; status: number; title: string; advice: string }
  }
  /** Waiting events and deliveries, the spool, retention and table sizes */
  'GET /queues': {
    answer: { receiving: { waiting: { count: number; more: boolean }; due: { count: number; more: boolean }; retrying: { count: number; more: boolean }; oldestDueSeconds: number; lastRoundSeconds: number | null; blocked: { count: number; more: boolean }; failed: { count: number; more: boolean } }; emitting: { waiting: { count: number; more: boolean }; due: { count: number; more: boolean }; retrying: { count: number; more: boolean }; oldestDueSeconds: number; lastRoundSeconds: number | null; dead: { count: number; more: boolean } }; spool: { status: "ok" | "full" | "unavailable"; events?: number; oldestSeconds?: number } | null; retention: ({ what: string; setting: string; seconds: number | null; oldestAt: string | null })[]; database: { engine: "sqlite" | "postgres"; bytes: number; freeBytes: number | null; logBytes: number | null }; tables: ({ name: string; rows: number; isEstimate: boolean; bytes: number | null })[] }
  }
  /** Versions of the service, Node.js and the database, and the schema's state */
  'GET /version': {
    answer: { version: string; node: string; engine: "sqlite" | "postgres"; engineVersion: string; schema: { migrations: number; pending: (string)[]; migratedAt: string | null }; startedAt: string; processes: number }
  }
  /** Settings and their sources, without secrets */
  'GET /settings': {
    answer: { data: ({ name: string; description: string; value: string | null; isSet: boolean; secret: boolean; origin: string })[] }
  }
  /** Run the checks of `postern doctor` in this process */
  'GET /diagnostics': {
    query?: { check?: string | undefined }
    answer: { checks: (string)[]; startedAt: string; endedAt: string; faults: number; warnings: number; findings: ({ check: string; state: "ok" | "warning" | "fault"; about: string; text: string; advice: string | null })[] }
  }
  /** The signed-in user and the session */
  'GET /auth/session': {
    answer: { sub: string; user: { id: string; sub: string; email: string | null; email_verified: boolean; name: string | null; picture: string | null; role: "user" | "admin" }; session: { id: string; kind: "session" | "token" }; impersonation?: { by: { id: string; name: string | null }; reason: string }; stepUp?: string }
  }
  /** Sign out; a form is redirected to /login */
  'POST /auth/logout': {
    answer: undefined
  }
  /** The public keys of access tokens (RFC 7517) */
  'GET /.well-known/jwks.json': {
    answer: { keys: (Record<string, unknown>)[] }
  }
  /** My sessions in browsers and apps; an app sees only its own */
  'GET /auth/sessions': {
    answer: { data: ({ id: string; kind: "browser" | "app"; current: boolean; device: string; app: string | null; appName: string | null; provider: string; address: string | null; userAgent: string | null; createdAt: string; lastSeenAt: string; expiresAt: string; impersonation: { by: string | null; reason: string } | null })[] }
  }
  /** Sign out everywhere else: revokes my other sessions; an app revokes only its own */
  'DELETE /auth/sessions': {
    answer: undefined
  }
  /** Revoke one of my sessions; an app can revoke only its own */
  'DELETE /auth/sessions/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** One user, with counts */
  'GET /users/{id}': {
    params: { id: string }
    answer: { id: string; email: string | null; emailVerified: boolean; name: string | null; picture: string | null; groups: (string)[]; ownGroups: (string)[]; provider: string; providerId: string; role: "user" | "admin"; adminBy: "role" | "ADMIN_IDENTITIES" | "groups" | null; mayBeImpersonated: boolean; blockedAt: string | null; createdAt: string; lastSeenAt: string | null; counts: { identities: number; browsers: number; apps: number } }
  }
  /** Block or unblock an account, or change its role or groups; revokes its sessions and tokens */
  'PATCH /users/{id}': {
    params: { id: string }
    body: { blocked?: boolean | undefined; role?: "user" | "admin" | undefined; groups?: (string)[] | undefined }
    answer: { id: string; email: string | null; name: string | null; provider: string; providerId: string; role: "user" | "admin"; blockedAt: string | null; createdAt: string }
  }
  /** Delete an account with its identities, sessions, consents and tokens */
  'DELETE /users/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** A user's identities, oldest first; a hundred at most */
  'GET /users/{id}/identities': {
    params: { id: string }
    answer: { data: ({ provider: string; providerId: string; email: string | null; emailVerified: boolean; name: string | null; picture: string | null; groups: (string)[]; createdAt: string; lastUsedAt: string })[] }
  }
  /** A user's audit log, newest first */
  'GET /users/{id}/audit': {
    params: { id: string }
    query?: { action?: string | undefined; failed?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; at: string; action: string; provider: string | null; providerId: string | null; target: string | null; code: string | null; supportId: string | null; address: string | null; userAgent: string | null; userId: string | null; userName: string | null; actor: string | null; actorName: string | null; targetName: string | null; sessionId: string | null; detail: Record<string, unknown> | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** A user's sessions in browsers and apps */
  'GET /users/{id}/sessions': {
    params: { id: string }
    answer: { data: ({ id: string; kind: "browser" | "app"; current: boolean; device: string; app: string | null; appName: string | null; provider: string; address: string | null; userAgent: string | null; createdAt: string; lastSeenAt: string; expiresAt: string; impersonation: { by: string | null; reason: string } | null })[] }
  }
  /** Revoke all sessions of a user, in browsers and apps; the user may sign in again */
  'DELETE /users/{id}/sessions': {
    params: { id: string }
    answer: undefined
  }
  /** Revoke one session of a user */
  'DELETE /users/{id}/sessions/{sessionId}': {
    params: { id: string; sessionId: string }
    answer: undefined
  }
  /** Act for a user: replaces the browser's session for up to an hour */
  'POST /users/{id}/impersonate': {
    params: { id: string }
    body: { reason: string }
    answer: { session: { id: string; expiresAt: string } }
  }
  /** Stop acting for a user: the browser gets the administrator's session back */
  'POST /auth/impersonation/stop': {
    answer: undefined
  }
  /** My identities */
  'GET /auth/identities': {
    answer: { data: ({ provider: string; providerId: string; email: string | null; emailVerified: boolean; name: string | null; picture: string | null; groups: (string)[]; createdAt: string; lastUsedAt: string })[] }
  }
  /** Unlink my identities at a provider, except the last one; only shortly after a sign-in */
  'DELETE /auth/identities/{provider}': {
    params: { provider: string }
    query?: { providerId?: string | undefined }
    answer: undefined
  }
  /** API keys, including revoked ones, newest first */
  'GET /keys': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; name: string; prefix: string; scopes: (string)[]; createdAt: string; createdBy: string | null; createdByName: string | null; expiresAt: string | null; lastUsedAt: string | null; revokedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null }; applicationScopes: ({ scope: string; hosts: (string)[] })[] }
  }
  /** Create an API key; only this response contains it */
  'POST /keys': {
    body: { name: string; scopes: ("events:read" | "events:write" | "subscribers:read" | "subscribers:write" | "users:read" | "users:write" | "clients:read" | "clients:write" | "lists:read" | "lists:write" | "webhooks:read" | "webhooks:write" | "svix" | "operate" | "admin")[]; expiresAt?: string | null | undefined }
    answer: { id: string; name: string; prefix: string; scopes: (string)[]; createdAt: string; createdBy: string | null; createdByName: string | null; expiresAt: string | null; lastUsedAt: string | null; revokedAt: string | null; key: string }
  }
  /** Revoke an API key immediately */
  'DELETE /keys/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Invitations, newest first; until 30 days after their expiry */
  'GET /invitations': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; email: string | null; role: "user" | "admin"; groups: (string)[]; status: "open" | "suspended" | "used" | "revoked" | "expired"; createdAt: string; createdBy: string; createdByName: string | null; expiresAt: string; usedAt: string | null; usedBy: string | null; usedByName: string | null; revokedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Invite a person; only this response contains the link */
  'POST /invitations': {
    body: { email?: string | undefined; role?: "user" | "admin" | undefined; groups?: (string)[] | undefined; expiresIn?: number | undefined }
    answer: { id: string; email: string | null; role: "user" | "admin"; groups: (string)[]; status: "open" | "suspended" | "used" | "revoked" | "expired"; createdAt: string; createdBy: string; createdByName: string | null; expiresAt: string; usedAt: string | null; usedBy: string | null; usedByName: string | null; revokedAt: string | null; url: string }
  }
  /** Revoke an invitation */
  'DELETE /invitations/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** The audit log, newest first */
  'GET /audit': {
    query?: { action?: string | undefined; failed?: string | undefined; since?: string | undefined; until?: string | undefined; userId?: string | undefined; actor?: string | undefined; target?: string | undefined; address?: string | undefined; supportId?: string | undefined; provider?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; at: string; action: string; provider: string | null; providerId: string | null; target: string | null; code: string | null; supportId: string | null; address: string | null; userAgent: string | null; userId: string | null; userName: string | null; actor: string | null; actorName: string | null; targetName: string | null; sessionId: string | null; detail: Record<string, unknown> | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** My audit log, newest first */
  'GET /auth/audit': {
    query?: { action?: string | undefined; failed?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; at: string; action: string; provider: string | null; providerId: string | null; target: string | null; code: string | null; supportId: string | null; address: string | null; userAgent: string | null; byMe: boolean })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** The redirect URI at the provider: redirects to /dashboard, or to /login after a failure */
  'GET /auth/{provider}/callback': {
    params: { provider: string }
    query?: { code?: string | undefined; state?: string | undefined; iss?: string | undefined; error?: string | undefined }
    answer: string
  }
  /** Link another identity to the signed-in user: redirects to the provider */
  'POST /auth/{provider}/link': {
    params: { provider: string }
    query?: { return_to?: string | undefined }
    answer: string
  }
  /** The identity providers on /login */
  'GET /auth/providers': {
    answer: { data: ({ name: string; label: string })[] }
  }
  /** The configured identity providers, without secrets */
  'GET /providers': {
    answer: { data: ({ name: string; label: string; icon: string; kind: "openid" | "oauth"; builtIn: boolean; issuer: string | null; clientId: string; callbackUrl: string; scope: string; rules: { allowedEmailDomains: (string)[]; allowedGroups: (string)[]; adminGroups: (string)[]; exclusiveRoles: boolean; updateProfile: boolean; endSession: boolean; keepsTokens: boolean }; signIns: { day: { ok: number; failed: number }; week: { ok: number; failed: number } }; users: number; lastCheck: { state: "ok" | "warning" | "fault"; text: string; at: string } | null })[] }
  }
  /** Check a provider now, as `postern doctor` does: discovery, keys, reachability, clock */
  'POST /providers/{name}/check': {
    params: { name: string }
    answer: { state: "ok" | "warning" | "fault"; text: string; at: string }
  }
  /** Apps, including declared ones, newest first */
  'GET /clients': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; name: string; declared: boolean; registered: boolean; confidential: boolean; redirectUris: (string)[]; postLogoutRedirectUris: (string)[]; backchannelLogoutUri: string | null; jwks: { keys: (Record<string, unknown>)[] } | null; scopes: (string)[]; audience: (string)[] | null; audiences: (string)[]; firstParty: boolean; clientCredentials: boolean; deviceGrant: boolean; admin: boolean; managesSessions: boolean; accessTokenLifetime: number | null; refreshTokenLifetime: number | null; idTokenAlgorithm: "ES256" | "RS256" | "EdDSA"; idTokenClaims: "scopes" | "minimal"; reauthenticationProof: "required" | "when-supported"; createdAt: string | null; updatedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Create an app; only this response contains its secret */
  'POST /clients': {
    body: { name: string; confidential?: boolean | undefined; redirectUris?: (string)[] | undefined; postLogoutRedirectUris?: (string)[] | undefined; backchannelLogoutUri?: string | null | undefined; jwks?: { keys: (Record<string, unknown>)[] } | null | undefined; scopes?: (string)[] | null | undefined; audience?: string | (string)[] | null | undefined; audiences?: (string)[] | null | undefined; firstParty?: boolean | null | undefined; clientCredentials?: boolean | null | undefined; deviceGrant?: boolean | null | undefined; admin?: boolean | null | undefined; managesSessions?: boolean | null | undefined; accessTokenLifetime?: number | null | undefined; refreshTokenLifetime?: number | null | undefined; idTokenAlgorithm?: "ES256" | "RS256" | "EdDSA" | null | undefined; idTokenClaims?: "scopes" | "minimal" | null | undefined; reauthenticationProof?: "required" | "when-supported" | null | undefined }
    answer: { id: string; name: string; declared: boolean; registered: boolean; confidential: boolean; redirectUris: (string)[]; postLogoutRedirectUris: (string)[]; backchannelLogoutUri: string | null; jwks: { keys: (Record<string, unknown>)[] } | null; scopes: (string)[]; audience: (string)[] | null; audiences: (string)[]; firstParty: boolean; clientCredentials: boolean; deviceGrant: boolean; admin: boolean; managesSessions: boolean; accessTokenLifetime: number | null; refreshTokenLifetime: number | null; idTokenAlgorithm: "ES256" | "RS256" | "EdDSA"; idTokenClaims: "scopes" | "minimal"; reauthenticationProof: "required" | "when-supported"; createdAt: string | null; updatedAt: string | null; secret?: string }
  }
  /** One app */
  'GET /clients/{id}': {
    params: { id: string }
    answer: { id: string; name: string; declared: boolean; registered: boolean; confidential: boolean; redirectUris: (string)[]; postLogoutRedirectUris: (string)[]; backchannelLogoutUri: string | null; jwks: { keys: (Record<string, unknown>)[] } | null; scopes: (string)[]; audience: (string)[] | null; audiences: (string)[]; firstParty: boolean; clientCredentials: boolean; deviceGrant: boolean; admin: boolean; managesSessions: boolean; accessTokenLifetime: number | null; refreshTokenLifetime: number | null; idTokenAlgorithm: "ES256" | "RS256" | "EdDSA"; idTokenClaims: "scopes" | "minimal"; reauthenticationProof: "required" | "when-supported"; createdAt: string | null; updatedAt: string | null; secrets: ({ id: string; begins: string; createdAt: string; expiresAt: string | null })[] }
  }
  /** Change an app; null selects the default */
  'PATCH /clients/{id}': {
    params: { id: string }
    body: { name?: string | undefined; redirectUris?: (string)[] | undefined; postLogoutRedirectUris?: (string)[] | undefined; backchannelLogoutUri?: string | null | undefined; jwks?: { keys: (Record<string, unknown>)[] } | null | undefined; scopes?: (string)[] | null | undefined; audience?: string | (string)[] | null | undefined; audiences?: (string)[] | null | undefined; firstParty?: boolean | null | undefined; clientCredentials?: boolean | null | undefined; deviceGrant?: boolean | null | undefined; admin?: boolean | null | undefined; managesSessions?: boolean | null | undefined; accessTokenLifetime?: number | null | undefined; refreshTokenLifetime?: number | null | undefined; idTokenAlgorithm?: "ES256" | "RS256" | "EdDSA" | null | undefined; idTokenClaims?: "scopes" | "minimal" | null | undefined; reauthenticationProof?: "required" | "when-supported" | null | undefined }
    answer: { id: string; name: string; declared: boolean; registered: boolean; confidential: boolean; redirectUris: (string)[]; postLogoutRedirectUris: (string)[]; backchannelLogoutUri: string | null; jwks: { keys: (Record<string, unknown>)[] } | null; scopes: (string)[]; audience: (string)[] | null; audiences: (string)[]; firstParty: boolean; clientCredentials: boolean; deviceGrant: boolean; admin: boolean; managesSessions: boolean; accessTokenLifetime: number | null; refreshTokenLifetime: number | null; idTokenAlgorithm: "ES256" | "RS256" | "EdDSA"; idTokenClaims: "scopes" | "minimal"; reauthenticationProof: "required" | "when-supported"; createdAt: string | null; updatedAt: string | null }
  }
  /** Delete an app; its tokens are rejected immediately */
  'DELETE /clients/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Create a new secret, shown only once; an app has two at most */
  'POST /clients/{id}/secrets': {
    params: { id: string }
    body?: { overlapSeconds?: number | undefined }
    answer: { id: string; begins: string; createdAt: string; expiresAt: string | null; secret: string }
  }
  /** Remove a secret immediately */
  'DELETE /clients/{id}/secrets/{secretId}': {
    params: { id: string; secretId: string }
    answer: undefined
  }
  /** An app's active sign-ins, newest first */
  'GET /clients/{id}/sign-ins': {
    params: { id: string }
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; userId: string; email: string | null; name: string | null; provider: string; device: string; address: string | null; scopes: (string)[]; createdAt: string; lastSeenAt: string; expiresAt: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** End one of an app's sign-ins with its tokens */
  'DELETE /clients/{id}/sign-ins/{signInId}': {
    params: { id: string; signInId: string }
    answer: undefined
  }
  /** The apps that I allowed or am signed in to */
  'GET /auth/apps': {
    answer: { data: ({ id: string; name: string; firstParty: boolean; scopes: (string)[]; since: string; lastUsedAt: string | null })[] }
  }
  /** The apps that a user allowed or is signed in to */
  'GET /users/{id}/apps': {
    params: { id: string }
    answer: { data: ({ id: string; name: string; firstParty: boolean; scopes: (string)[]; since: string; lastUsedAt: string | null })[] }
  }
  /** Remove an app: revokes my consent and its tokens */
  'DELETE /auth/apps/{clientId}': {
    params: { clientId: string }
    answer: undefined
  }
  /** Push an authorization request (RFC 9126) */
  'POST /oauth2/par': {
    answer: { request_uri: string; expires_in: number }
  }
  /** Exchange a code or a refresh token (RFC 6749; JSON or form) */
  'POST /oauth2/token': {
    body: { grant_type?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined; code?: string | undefined; code_verifier?: string | undefined; redirect_uri?: string | undefined; refresh_token?: string | undefined; device_code?: string | undefined; scope?: string | undefined; resource?: string | undefined }
    answer: { access_token: string; token_type: "Bearer"; expires_in: number; refresh_token?: string; id_token?: string; scope?: string }
  }
  /** Exchange a code or a refresh token (RFC 6749; JSON or form) */
  'POST /auth/token': {
    body: { grant_type?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined; code?: string | undefined; code_verifier?: string | undefined; redirect_uri?: string | undefined; refresh_token?: string | undefined; device_code?: string | undefined; scope?: string | undefined; resource?: string | undefined }
    answer: { access_token: string; token_type: "Bearer"; expires_in: number; refresh_token?: string; id_token?: string; scope?: string }
  }
  /** Sign in with an id_token from an SDK */
  'POST /auth/{provider}/token': {
    params: { provider: string }
    body: { client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined; id_token?: string | undefined; nonce?: string | undefined; name?: string | undefined; new_user?: boolean | "true" | "false" | undefined }
    answer: { access_token: string; token_type: "Bearer"; expires_in: number; refresh_token?: string; id_token?: string; scope?: string }
  }
  /** Check a token and return its claims (RFC 7662; JSON or form) */
  'POST /oauth2/introspect': {
    body: { token?: string | undefined; token_type_hint?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined }
    answer: { active: boolean; scope?: string; client_id?: string; token_type?: string; exp?: number; iat?: number; auth_time?: number; sub?: string; aud?: string | (string)[]; iss?: string; jti?: string; sid?: string; acr?: string; amr?: (string)[]; act?: { sub: string } }
  }
  /** End the sign-in that a token belongs to (RFC 7009; JSON or form) */
  'POST /oauth2/revoke': {
    body: { token?: string | undefined; token_type_hint?: string | undefined; client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined }
    answer: Record<string, unknown>
  }
  /** The claims about an access token's user (OpenID Connect) */
  'GET /oauth2/userinfo': {
    answer: { sub: string }
  }
  /** The claims about an access token's user (OpenID Connect) */
  'POST /oauth2/userinfo': {
    answer: { sub: string }
  }
  /** The metadata of the OpenID Provider */
  'GET /.well-known/openid-configuration': {
    answer: { issuer: string }
  }
  /** The metadata of the OpenID Provider */
  'GET /.well-known/oauth-authorization-server': {
    answer: { issuer: string }
  }
  /** Start a device sign-in (RFC 8628) */
  'POST /oauth2/device_authorization': {
    body: { client_id?: string | undefined; client_secret?: string | undefined; client_assertion?: string | undefined; client_assertion_type?: string | undefined; scope?: string | undefined; resource?: string | undefined }
    answer: { device_code: string; user_code: string; verification_uri: string; verification_uri_complete: string; expires_in: number; interval: number }
  }
  /** For reverse proxies: decide if a request can reach an application */
  'GET /auth/forward': {
    answer: undefined
  }
  /** Receive a webhook of the source provider (hmac) */
  'POST /webhooks/provider': {
    answer: { received: true }
  }
  /** Handlers, with backlog and recent activity */
  'GET /handlers': {
    answer: { data: ({ id: string; pattern: string; source: string | null; forwardTo: string | null; slots: number; slotsOf: "all processes" | "source and process"; timeoutSeconds: number; ordered: boolean; paused: { at: string; by: string | null; byName: string | null } | null; waiting: number; retrying: number; failed: number; lagSeconds: number; recent: { handled: number; failures: number; errorRate: number | null; durationMs: number | null }; lastHandledAt: string | null; lastFailureAt: string | null; activity: ({ at: string; handled: number; failures: number; durationMs: number | null })[] })[] }
  }
  /** One handler */
  'GET /handlers/{id}': {
    params: { id: string }
    answer: { id: string; pattern: string; source: string | null; forwardTo: string | null; slots: number; slotsOf: "all processes" | "source and process"; timeoutSeconds: number; ordered: boolean; paused: { at: string; by: string | null; byName: string | null } | null; waiting: number; retrying: number; failed: number; lagSeconds: number; recent: { handled: number; failures: number; errorRate: number | null; durationMs: number | null }; lastHandledAt: string | null; lastFailureAt: string | null; activity: ({ at: string; handled: number; failures: number; durationMs: number | null })[] }
  }
  /** Pause a handler; its events wait until you resume it */
  'POST /handlers/{id}/pause': {
    params: { id: string }
    body?: Record<string, unknown>
    answer: { id: string; pattern: string; source: string | null; forwardTo: string | null; slots: number; slotsOf: "all processes" | "source and process"; timeoutSeconds: number; ordered: boolean; paused: { at: string; by: string | null; byName: string | null } | null; waiting: number; retrying: number; failed: number; lagSeconds: number; recent: { handled: number; failures: number; errorRate: number | null; durationMs: number | null }; lastHandledAt: string | null; lastFailureAt: string | null; activity: ({ at: string; handled: number; failures: number; durationMs: number | null })[] }
  }
  /** Resume a paused handler */
  'POST /handlers/{id}/resume': {
    params: { id: string }
    body?: Record<string, unknown>
    answer: { id: string; pattern: string; source: string | null; forwardTo: string | null; slots: number; slotsOf: "all processes" | "source and process"; timeoutSeconds: number; ordered: boolean; paused: { at: string; by: string | null; byName: string | null } | null; waiting: number; retrying: number; failed: number; lagSeconds: number; recent: { handled: number; failures: number; errorRate: number | null; durationMs: number | null }; lastHandledAt: string | null; lastFailureAt: string | null; activity: ({ at: string; handled: number; failures: number; durationMs: number | null })[] }
  }
  /** Webhook sources, with their activity of the last 24 hours */
  'GET /sources': {
    answer: { data: ({ name: string; url: string; scheme: string; label: string; steps: (string)[]; docs: string | null; exampleType: string; hasSecret: boolean; weakness: string | null; canSign: boolean; answersChallenges: boolean; forwardTo: string | null; rateLimit: number | null; lastEventAt: string | null; lastRefusedAt: string | null; day: { accepted: number; duplicates: number; dropped: number; refused: number } })[] }
  }
  /** One webhook source */
  'GET /sources/{name}': {
    params: { name: string }
    answer: { name: string; url: string; scheme: string; label: string; steps: (string)[]; docs: string | null; exampleType: string; hasSecret: boolean; weakness: string | null; canSign: boolean; answersChallenges: boolean; forwardTo: string | null; rateLimit: number | null; lastEventAt: string | null; lastRefusedAt: string | null; day: { accepted: number; duplicates: number; dropped: number; refused: number }; refusals: ({ reason: string; meaning: string; advice: string; count: number; lastAt: string | null })[]; slots: ({ at: string; accepted: number; duplicates: number; refused: number })[] }
  }
  /** Send a signed sample to a source */
  'POST /sources/{name}/sample': {
    params: { name: string }
    body?: { type?: string | undefined; data?: Record<string, unknown> | undefined }
    answer: { id: number | null; eventId: string; type: string }
  }
  /** Rejected webhooks with their reasons, newest first */
  'GET /rejected-webhooks': {
    query?: { source?: string | undefined; reason?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: number; source: string; at: string; reason: string; meaning: string; advice: string; detail: string; address: string | null; headers: Record<string, string>; size: number | null; body?: string; bodyBase64?: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** One rejected webhook */
  'GET /rejected-webhooks/{id}': {
    params: { id: string }
    answer: { id: number; source: string; at: string; reason: string; meaning: string; advice: string; detail: string; address: string | null; headers: Record<string, string>; size: number | null; body?: string; bodyBase64?: string }
  }
  /** Rejected webhooks by source and reason */
  'GET /rejected-webhooks/counts': {
    answer: { since: string | null; total: number; data: ({ source: string; reason: string; meaning: string; advice: string; count: number; lastAt: string })[] }
  }
  /** Run a received event's handlers without committing */
  'POST /events/{id}/dry-run': {
    params: { id: string }
    body?: Record<string, unknown>
    answer: { outcome: "processed" | "failed" | "forwarded"; error: string | null; emitted: ({ id?: string; type: string; data: unknown; audience?: string; deliverAt?: string; delay?: number; channels?: (string)[]; tags?: (string)[]; payloadRetention?: number })[]; emittedTotal: number; forwardTo: string | null; durationMs: number; handlers: (string)[]; tables: ({ table: string; inserted: number; updated: number; deleted: number; rows: ({ operation: "insert" | "update" | "delete"; key: Record<string, unknown>; before: Record<string, unknown> | null; after: Record<string, unknown> | null })[]; note: string | null })[]; log: ({ level: "debug" | "info" | "warn" | "error"; message: string; fields: string | null })[]; notes: (string)[] }
  }
  /** Handler failures with failed or retried events, grouped by cause, newest first */
  'GET /failures': {
    query?: { handler?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; handler: string; name: string; message: string; frame: string | null; firstAt: string; lastAt: string; count: number; failed: number; retrying: number; hours: ({ at: string; count: number })[] })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** One failure group */
  'GET /failures/{id}': {
    params: { id: string }
    answer: { id: string; handler: string; name: string; message: string; frame: string | null; firstAt: string; lastAt: string; count: number; failed: number; retrying: number; hours: ({ at: string; count: number })[]; error: string | null; errorAt: string | null; errorEvent: number | null; events: ({ id: number; eventId: string; type: string; source: string; status: "failed" | "retrying"; createdAt: string; attempts: number; failedAt: string | null; nextAttemptAt: string | null; error: string | null })[] }
  }
  /** Run the handlers of all events in a failure group now. Returns a job */
  'POST /failures/{id}/rerun': {
    params: { id: string }
    body?: Record<string, unknown>
    answer: { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Failed and retrying received events, newest first */
  'GET /events/failed': {
    query?: { status?: string | undefined; handler?: string | undefined; type?: string | undefined; source?: string | undefined; group?: string | undefined; error?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: number; eventId: string; type: string; source: string; status: "failed" | "retrying"; createdAt: string; attempts: number; failedAt: string | null; nextAttemptAt: string | null; error: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Run a received event's handlers now */
  'POST /events/{id}/reprocess': {
    params: { id: string }
    body?: { dryRun?: boolean | undefined }
    answer: { outcome: "processed" | "failed" | "forwarded"; error: string | null; emitted: ({ id?: string; type: string; data: unknown; audience?: string; deliverAt?: string; delay?: number; channels?: (string)[]; tags?: (string)[]; payloadRetention?: number })[]; emittedTotal: number; forwardTo: string | null; durationMs: number } | { id: number; eventId: string; status: string }
  }
  /** Run the handlers of many failed or retrying events now. Returns a job */
  'POST /events/reprocess': {
    body?: { status?: string | undefined; handler?: string | undefined; type?: string | undefined; source?: string | undefined; group?: string | undefined; error?: string | undefined; since?: string | undefined; until?: string | undefined; dryRun?: boolean | undefined }
    answer: { total: number } | { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** The log of received and emitted events, oldest first by default */
  'GET /events': {
    query?: { status?: string | undefined; type?: string | undefined; source?: string | undefined; direction?: string | undefined; since?: string | undefined; until?: string | undefined; eventId?: string | undefined; orderKey?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined; order?: string | undefined }
    answer: { data: ({ id: number; eventId: string; type: string; direction: "received" | "emitted"; source: string | null; status: string; createdAt: string; deliverAt?: string; channels?: (string)[]; tags?: (string)[] })[]; nextCursor: number | null }
  }
  /** Emit events to all subscribers that match them */
  'POST /events': {
    body: { type: string; data: unknown; id?: string | undefined; audience?: string | undefined; deliverAt?: string | undefined; delay?: number | undefined; channels?: (string)[] | undefined; tags?: (string)[] | undefined; payloadRetention?: number | undefined } | ({ type: string; data: unknown; id?: string | undefined; audience?: string | undefined; deliverAt?: string | undefined; delay?: number | undefined; channels?: (string)[] | undefined; tags?: (string)[] | undefined; payloadRetention?: number | undefined })[]
    answer: { id: number; eventId: string; type: string; deliverAt?: string } | ({ id: number; eventId: string; type: string; deliverAt?: string })[]
  }
  /** One event with payload, verification, timeline and resulting deliveries */
  'GET /events/{id}': {
    params: { id: string }
    answer: { id: number; eventId: string; type: string; direction: "received" | "emitted"; source: string | null; status: string; createdAt: string; deliverAt?: string; channels?: (string)[]; tags?: (string)[]; contentType: string; audience: string | null; canceledAt: string | null; uid: string | null; payloadExpiresAt: string | null; payloadRemovedAt: string | null; headers: Record<string, string> | null; verification: { scheme: string; secret: number | null; signedAt: string | null } | null; causedBy: number | null; causes: ({ id: number; eventId: string; direction: "received" | "emitted"; type: string | null; source: string | null; createdAt: string | null })[]; emitted: ({ id: number; eventId: string; type: string | null; status: string | null; createdAt: string | null })[]; returned: ({ id: number; eventId: string; type: string; source: string | null; status: string; createdAt: string | null })[]; processing: { attempts: number; processedAt: string | null; nextAttemptAt: string | null; running: boolean; orderKey: string | null; blockedBy: number | null; failures: ({ number: number; at: string | null; durationMs: number; error: string })[] } | null; deliveries: ({ id: number; event: number; subscriberId: string; subscriberHost: string; subscriberDescription: string | null; status: string; attempts: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string | null; finishedAt: string | null; attemptLog: ({ number: number; at: string; durationMs: number; status: number | null; error: string | null; failure: string | null })[] })[]; emittedDeliveries: ({ id: number; event: number; subscriberId: string; subscriberHost: string; subscriberDescription: string | null; status: string; attempts: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string | null; finishedAt: string | null; attemptLog: ({ number: number; at: string; durationMs: number; status: number | null; error: string | null; failure: string | null })[] })[]; payload?: unknown; payloadBase64?: string }
  }
  /** Cancel an event that is scheduled by `deliverAt` or `delay` */
  'DELETE /events/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Remove an emitted event's payload */
  'DELETE /events/{id}/payload': {
    params: { id: string }
    answer: undefined
  }
  /** A subscriber's public keys for `v1a` and ed25519 signatures */
  'GET /.well-known/webhook-keys/{id}': {
    params: { id: string }
    answer: { keys: ({ kty: string; crv: string; x: string; kid: string; alg: string; use: string })[] }
  }
  /** Create a link to an owner's portal */
  'POST /portal-links': {
    body: { owner: string; name?: string | undefined; expiresIn?: number | undefined; sessionSeconds?: number | undefined }
    answer: { url: string; expiresAt: string }
  }
  /** End all portal links and sessions of an owner */
  'DELETE /portal-links': {
    query: { owner: string }
    answer: undefined
  }
  /** The session's owner, expiry and brand */
  'GET /portal/session': {
    answer: { owner: string; name: string | null; expiresAt: string; brand: { name: string | null; logo: string | null; variables: Record<string, string> | null } }
  }
  /** Open a single-use link; sets the portal's cookie or returns a token */
  'POST /portal/session': {
    body: { token: string; replace?: boolean | undefined; embedded?: boolean | undefined }
    answer: { owner: string; name: string | null; expiresAt: string; brand: { name: string | null; logo: string | null; variables: Record<string, string> | null }; accessToken?: string }
  }
  /** Sign out of the portal */
  'DELETE /portal/session': {
    answer: undefined
  }
  /** The deliveries of all subscribers, newest first */
  'GET /deliveries': {
    query?: { status?: string | undefined; eventType?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined; subscriber?: string | undefined; owner?: string | undefined; eventId?: string | undefined; response?: string | undefined }
    answer: { data: ({ id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null; subscriberUrl: string; owner: string | null; ownerName: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** The event catalog with samples */
  'GET /event-types': {
    answer: { data: ({ type: string; description: string | null; schema: unknown; samples: (unknown)[]; builtIn: boolean; stored: boolean; deprecated: boolean; group: string | null })[] }
  }
  /** Event types created through the API, including archived ones */
  'GET /stored-event-types': {
    answer: { data: ({ type: string; description: string; schemas: Record<string, unknown> | null; group: string | null; featureFlags: (string)[] | null; archived: boolean; deprecated: boolean; createdAt: string; updatedAt: string })[] }
  }
  /** Create or replace an event type */
  'PUT /event-types/{type}': {
    params: { type: string }
    body: { description?: string | undefined; schemas?: Record<string, unknown> | null | undefined; group?: string | null | undefined; featureFlags?: (string)[] | null | undefined; archived?: boolean | undefined; deprecated?: boolean | undefined }
    answer: { type: string; description: string; schemas: Record<string, unknown> | null; group: string | null; featureFlags: (string)[] | null; archived: boolean; deprecated: boolean; createdAt: string; updatedAt: string }
  }
  /** Delete an event type created through the API */
  'DELETE /event-types/{type}': {
    params: { type: string }
    answer: undefined
  }
  /** Owners, ordered by id */
  'GET /owners': {
    query?: { q?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ owner: string; name: string | null; uid: string | null; metadata: Record<string, string>; subscribers: number; states: { active: number; idle: number; failing: number; paused: number; disabled: number }; delivered: number; failed: number; successRate: number | null; lastDelivery: { id: number; status: "pending" | "delivered" | "dead"; createdAt: string } | null; linkExpiresAt: string | null; sessionExpiresAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** One owner with subscriber states, the last day's deliveries and portal access */
  'GET /owners/{owner}': {
    params: { owner: string }
    answer: { owner: string; name: string | null; uid: string | null; metadata: Record<string, string>; subscribers: number; states: { active: number; idle: number; failing: number; paused: number; disabled: number }; delivered: number; failed: number; successRate: number | null; lastDelivery: { id: number; status: "pending" | "delivered" | "dead"; createdAt: string } | null; linkExpiresAt: string | null; sessionExpiresAt: string | null }
  }
  /** Set or remove an owner's display name and metadata */
  'PUT /owners/{owner}': {
    params: { owner: string }
    body: { name: string | null; metadata?: Record<string, string> | null | undefined }
    answer: { owner: string; name: string | null; metadata: Record<string, string> }
  }
  /** Remove an owner with its subscribers and its portal access */
  'DELETE /owners/{owner}': {
    params: { owner: string }
    answer: undefined
  }
  /** The brand of an owner's portal */
  'GET /owners/{owner}/brand': {
    params: { owner: string }
    answer: { name: string | null; color: string | null; logo: string | null }
  }
  /** Change the brand of an owner's portal */
  'PATCH /owners/{owner}/brand': {
    params: { owner: string }
    body: { name?: string | null | undefined; color?: string | null | undefined; logo?: string | null | undefined }
    answer: { name: string | null; color: string | null; logo: string | null }
  }
  /** Subscribers, newest first */
  'GET /subscribers': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined; state?: string | undefined; url?: string | undefined; owner?: string | undefined }
    answer: { data: ({ id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Register a subscriber; only this response contains its secret */
  'POST /subscribers': {
    body: { url?: string | undefined; destination?: string | undefined; secret?: string | undefined; sendTest?: boolean | undefined; description?: string | null | undefined; eventTypes?: (string)[] | undefined; conditions?: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] | undefined })[] | null | undefined; channels?: (string)[] | null | undefined; headers?: Record<string, string> | null | undefined; transformation?: string | null | undefined; ordered?: boolean | undefined; signing?: "v1" | "v1a" | "both" | undefined; httpSignature?: boolean | undefined; auth?: { type: "basic" | "bearer" | "oauth"; user?: string | undefined; password?: string | undefined; token?: string | undefined; tokenUrl?: string | undefined; clientId?: string | undefined; clientSecret?: string | undefined; scope?: string | undefined; audience?: string | undefined; clientAuthentication?: "header" | "body" | undefined } | null | undefined; tls?: { certificate?: string | undefined; key?: string | undefined; ca?: string | undefined } | null | undefined; settings?: Record<string, unknown> | undefined; secrets?: Record<string, string> | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; successStatuses?: (number | string)[] | null | undefined; noRetryStatuses?: (number | string)[] | null | undefined; gzip?: boolean | undefined; signatureHeaders?: "webhook" | "svix" | "both" | undefined; body?: "event" | "data" | undefined; rateLimit?: number | null | undefined; retrySchedule?: (number)[] | null | undefined; timeout?: number | null | undefined; concurrency?: number | null | undefined; uid?: string | null | undefined; metadata?: Record<string, string> | null | undefined; owner?: string | null | undefined; operational?: boolean | undefined }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; secret?: string; publicKey?: string; testDeliveryId?: number }
  }
  /** One subscriber */
  'GET /subscribers/{id}': {
    params: { id: string }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; publicKeys: (string)[]; keys: ({ id: string; scheme: "v1" | "v1a"; createdAt: string; expiresAt: string | null; publicKey: string | null })[] }
  }
  /** Change, pause, resume or disable a subscriber; null selects the default */
  'PATCH /subscribers/{id}': {
    params: { id: string }
    body: { url?: string | undefined; status?: "active" | "paused" | "disabled" | undefined; description?: string | null | undefined; eventTypes?: (string)[] | undefined; conditions?: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] | undefined })[] | null | undefined; channels?: (string)[] | null | undefined; headers?: Record<string, string> | null | undefined; transformation?: string | null | undefined; ordered?: boolean | undefined; signing?: "v1" | "v1a" | "both" | undefined; httpSignature?: boolean | undefined; auth?: { type: "basic" | "bearer" | "oauth"; user?: string | undefined; password?: string | undefined; token?: string | undefined; tokenUrl?: string | undefined; clientId?: string | undefined; clientSecret?: string | undefined; scope?: string | undefined; audience?: string | undefined; clientAuthentication?: "header" | "body" | undefined } | null | undefined; tls?: { certificate?: string | undefined; key?: string | undefined; ca?: string | undefined } | null | undefined; settings?: Record<string, unknown> | undefined; secrets?: Record<string, string> | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; successStatuses?: (number | string)[] | null | undefined; noRetryStatuses?: (number | string)[] | null | undefined; gzip?: boolean | undefined; signatureHeaders?: "webhook" | "svix" | "both" | undefined; body?: "event" | "data" | undefined; rateLimit?: number | null | undefined; retrySchedule?: (number)[] | null | undefined; timeout?: number | null | undefined; concurrency?: number | null | undefined; uid?: string | null | undefined; metadata?: Record<string, string> | null | undefined; owner?: string | null | undefined; operational?: boolean | undefined }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; secret?: string; publicKey?: string }
  }
  /** Remove a subscriber with its delivery log */
  'DELETE /subscribers/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Create a new secret, shown only once; both sign until the overlap ends */
  'POST /subscribers/{id}/rotate-secret': {
    params: { id: string }
    body?: { overlapSeconds?: number | undefined; secret?: string | undefined }
    answer: { secret?: string; publicKey?: string }
  }
  /** Send a signed test event to this subscriber alone */
  'POST /subscribers/{id}/test': {
    params: { id: string }
    answer: { id: number; eventId: string; deliveryId: number }
  }
  /** Destinations of the configuration, in place of HTTP */
  'GET /destinations': {
    answer: { items: ({ name: string; title: string; owners: boolean; fields: ({ name: string; label: string; description: string | null; secret: boolean; required: boolean })[] })[] }
  }
  /** Ready-made transformations for chats */
  'GET /transformations/forms': {
    answer: { data: ({ name: string; title: string; code: string })[] }
  }
  /** Run a transformation without sending anything */
  'POST /transformations/test': {
    body: { code: string; url?: string | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; headers?: Record<string, string> | undefined; eventId?: string | undefined; event?: { type: string; data: unknown } | undefined }
    answer: { before: { method: string; url: string; headers: Record<string, string>; body: string }; after: { method: string; url: string; headers: Record<string, string>; body: string } | null; canceled: boolean; error: { message: string; line?: number } | null; durationMs: number }
  }
  /** A subscriber's delivery log, newest first */
  'GET /subscribers/{id}/deliveries': {
    params: { id: string }
    query?: { status?: string | undefined; eventType?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** One delivery with its attempts */
  'GET /deliveries/{id}': {
    params: { id: string }
    answer: { id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null; subscriberUrl: string; owner: string | null; ownerName: string | null; payload: string; payloadBytes: number; attempts: ({ number: number; at: string; url: string | null; method: string; status: number | null; durationMs: number; phases: { reused: boolean; dns: number | null; connect: number | null; tls: number | null; firstByte: number | null; total: number } | null; error: string | null; failure: string | null; advice: string | null; requestHeaders: Record<string, string>; requestBody: string | null; requestBodyBytes: number | null; transformed: boolean; signature: string | null; responseHeaders: Record<string, string> | null; responseBody: string | null })[] }
  }
  /** Resend a delivery with the same event ID; a pending one is sent now */
  'POST /deliveries/{id}/replay': {
    params: { id: string }
    answer: { id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null }
  }
  /** Resend many deliveries; without a status, the failed ones. Returns a job */
  'POST /subscribers/{id}/replay': {
    params: { id: string }
    body?: { status?: "pending" | "delivered" | "dead" | "missing" | undefined; eventType?: string | undefined; since?: string | undefined; until?: string | undefined; dryRun?: boolean | undefined; rate?: number | undefined }
    answer: { total: number } | { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Jobs that replay deliveries or reprocess events, newest first */
  'GET /jobs': {
    query?: { kind?: string | undefined; status?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string; subscriberName: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** A subscriber's newest twenty bulk replays */
  'GET /subscribers/{id}/jobs': {
    params: { id: string }
    answer: { data: ({ id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string })[] }
  }
  /** The progress of a bulk replay or reprocessing job */
  'GET /jobs/{id}': {
    params: { id: string }
    answer: { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Cancel a job; its completed steps are not undone */
  'DELETE /jobs/{id}': {
    params: { id: string }
    answer: { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Attempts and their durations by hour */
  'GET /subscribers/{id}/health': {
    params: { id: string }
    query?: { since?: string | undefined; until?: string | undefined }
    answer: { since: string; until: string; delivered: number; failed: number; successRate: number | null; p50: number | null; p99: number | null; hours: ({ hour: string; delivered: number; failed: number; successRate: number | null; p50: number | null; p99: number | null })[] }
  }
  /** Receivers in nine languages that verify the signatures */
  'GET /subscribers/{id}/verification': {
    params: { id: string }
    answer: { url: string; signing: "v1" | "v1a" | "both"; languages: ({ id: string; name: string; file: string; code: string })[] }
  }
  /** Subscribers, newest first */
  'GET /portal/subscribers': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined; state?: string | undefined; url?: string | undefined }
    answer: { data: ({ id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Register a subscriber; only this response contains its secret */
  'POST /portal/subscribers': {
    body: { url?: string | undefined; destination?: string | undefined; secret?: string | undefined; sendTest?: boolean | undefined; description?: string | null | undefined; eventTypes?: (string)[] | undefined; conditions?: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] | undefined })[] | null | undefined; channels?: (string)[] | null | undefined; headers?: Record<string, string> | null | undefined; transformation?: string | null | undefined; ordered?: boolean | undefined; signing?: "v1" | "v1a" | "both" | undefined; httpSignature?: boolean | undefined; auth?: { type: "basic" | "bearer" | "oauth"; user?: string | undefined; password?: string | undefined; token?: string | undefined; tokenUrl?: string | undefined; clientId?: string | undefined; clientSecret?: string | undefined; scope?: string | undefined; audience?: string | undefined; clientAuthentication?: "header" | "body" | undefined } | null | undefined; tls?: { certificate?: string | undefined; key?: string | undefined; ca?: string | undefined } | null | undefined; settings?: Record<string, unknown> | undefined; secrets?: Record<string, string> | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; successStatuses?: (number | string)[] | null | undefined; noRetryStatuses?: (number | string)[] | null | undefined; gzip?: boolean | undefined; signatureHeaders?: "webhook" | "svix" | "both" | undefined; body?: "event" | "data" | undefined; rateLimit?: number | null | undefined }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; secret?: string; publicKey?: string; testDeliveryId?: number }
  }
  /** One subscriber */
  'GET /portal/subscribers/{id}': {
    params: { id: string }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; publicKeys: (string)[]; keys: ({ id: string; scheme: "v1" | "v1a"; createdAt: string; expiresAt: string | null; publicKey: string | null })[] }
  }
  /** Change, pause, resume or disable a subscriber; null selects the default */
  'PATCH /portal/subscribers/{id}': {
    params: { id: string }
    body: { url?: string | undefined; status?: "active" | "paused" | "disabled" | undefined; description?: string | null | undefined; eventTypes?: (string)[] | undefined; conditions?: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] | undefined })[] | null | undefined; channels?: (string)[] | null | undefined; headers?: Record<string, string> | null | undefined; transformation?: string | null | undefined; ordered?: boolean | undefined; signing?: "v1" | "v1a" | "both" | undefined; httpSignature?: boolean | undefined; auth?: { type: "basic" | "bearer" | "oauth"; user?: string | undefined; password?: string | undefined; token?: string | undefined; tokenUrl?: string | undefined; clientId?: string | undefined; clientSecret?: string | undefined; scope?: string | undefined; audience?: string | undefined; clientAuthentication?: "header" | "body" | undefined } | null | undefined; tls?: { certificate?: string | undefined; key?: string | undefined; ca?: string | undefined } | null | undefined; settings?: Record<string, unknown> | undefined; secrets?: Record<string, string> | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; successStatuses?: (number | string)[] | null | undefined; noRetryStatuses?: (number | string)[] | null | undefined; gzip?: boolean | undefined; signatureHeaders?: "webhook" | "svix" | "both" | undefined; body?: "event" | "data" | undefined; rateLimit?: number | null | undefined }
    answer: { id: string; url: string; description: string | null; eventTypes: (string)[]; status: "active" | "paused" | "disabled"; state: "disabled" | "paused" | "failing" | "idle" | "active"; lastDay: { delivered: number; failed: number; successRate: number | null; p99: number | null }; disabledReason: string | null; retrySchedule: (number)[] | null; timeout: number | null; rateLimit: number | null; concurrency: number | null; headers: Record<string, string>; auth: { type: "basic" | "bearer" | "oauth"; user?: string; password?: string; token?: string; tokenUrl?: string; clientId?: string; clientSecret?: string; scope?: string; audience?: string; clientAuthentication?: "header" | "body" } | null; tls: { certificate?: string; key?: string; ca?: string } | null; destination: string | null; settings: Record<string, unknown> | null; secrets: Record<string, string> | null; transformation: string | null; method: "POST" | "PUT" | "PATCH"; successStatuses: (number | string)[] | null; noRetryStatuses: (number | string)[] | null; gzip: boolean; signatureHeaders: "webhook" | "svix" | "both"; body: "event" | "data"; ordered: boolean; signing: "v1" | "v1a" | "both"; httpSignature: boolean; conditions: ({ path: string; op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "prefix" | "exists"; value?: string | number | boolean | null | (string | number | boolean | null)[] })[]; channels: (string)[]; uid: string | null; metadata: Record<string, string> | null; owner: string | null; ownerName: string | null; operational: boolean; failingSince: string | null; disablesAt: string | null; createdAt: string; updatedAt: string; secret?: string; publicKey?: string }
  }
  /** Remove a subscriber with its delivery log */
  'DELETE /portal/subscribers/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Create a new secret, shown only once; both sign until the overlap ends */
  'POST /portal/subscribers/{id}/rotate-secret': {
    params: { id: string }
    body?: { overlapSeconds?: number | undefined; secret?: string | undefined }
    answer: { secret?: string; publicKey?: string }
  }
  /** Send a signed test event to this subscriber alone */
  'POST /portal/subscribers/{id}/test': {
    params: { id: string }
    answer: { id: number; eventId: string; deliveryId: number }
  }
  /** Destinations of the configuration, in place of HTTP */
  'GET /portal/destinations': {
    answer: { items: ({ name: string; title: string; owners: boolean; fields: ({ name: string; label: string; description: string | null; secret: boolean; required: boolean })[] })[] }
  }
  /** Ready-made transformations for chats */
  'GET /portal/transformations/forms': {
    answer: { data: ({ name: string; title: string; code: string })[] }
  }
  /** Run a transformation without sending anything */
  'POST /portal/transformations/test': {
    body: { code: string; url?: string | undefined; method?: "POST" | "PUT" | "PATCH" | undefined; headers?: Record<string, string> | undefined; eventId?: string | undefined; event?: { type: string; data: unknown } | undefined }
    answer: { before: { method: string; url: string; headers: Record<string, string>; body: string }; after: { method: string; url: string; headers: Record<string, string>; body: string } | null; canceled: boolean; error: { message: string; line?: number } | null; durationMs: number }
  }
  /** A subscriber's delivery log, newest first */
  'GET /portal/subscribers/{id}/deliveries': {
    params: { id: string }
    query?: { status?: string | undefined; eventType?: string | undefined; since?: string | undefined; until?: string | undefined; limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** One delivery with its attempts */
  'GET /portal/deliveries/{id}': {
    params: { id: string }
    answer: { id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null; subscriberUrl: string; owner: string | null; ownerName: string | null; payload: string; payloadBytes: number; attempts: ({ number: number; at: string; url: string | null; method: string; status: number | null; durationMs: number; phases: { reused: boolean; dns: number | null; connect: number | null; tls: number | null; firstByte: number | null; total: number } | null; error: string | null; failure: string | null; advice: string | null; requestHeaders: Record<string, string>; requestBody: string | null; requestBodyBytes: number | null; transformed: boolean; signature: string | null; responseHeaders: Record<string, string> | null; responseBody: string | null })[] }
  }
  /** Resend a delivery with the same event ID; a pending one is sent now */
  'POST /portal/deliveries/{id}/replay': {
    params: { id: string }
    answer: { id: number; event: number; eventId: string; eventType: string; subscriberId: string; status: "pending" | "delivered" | "dead"; attemptCount: number; lastStatus: number | null; lastError: string | null; nextAttemptAt: string | null; createdAt: string; finishedAt: string | null }
  }
  /** Resend many deliveries; without a status, the failed ones. Returns a job */
  'POST /portal/subscribers/{id}/replay': {
    params: { id: string }
    body?: { status?: "pending" | "delivered" | "dead" | "missing" | undefined; eventType?: string | undefined; since?: string | undefined; until?: string | undefined; dryRun?: boolean | undefined; rate?: number | undefined }
    answer: { total: number } | { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** A subscriber's newest twenty bulk replays */
  'GET /portal/subscribers/{id}/jobs': {
    params: { id: string }
    answer: { data: ({ id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string })[] }
  }
  /** The progress of a bulk replay or reprocessing job */
  'GET /portal/jobs/{id}': {
    params: { id: string }
    answer: { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Cancel a job; its completed steps are not undone */
  'DELETE /portal/jobs/{id}': {
    params: { id: string }
    answer: { id: string; kind: "replay" | "reprocess"; subscriberId: string | null; status: "running" | "done" | "cancelled" | "failed"; total: number; done: number; rate: number | null; createdAt: string; updatedAt: string }
  }
  /** Attempts and their durations by hour */
  'GET /portal/subscribers/{id}/health': {
    params: { id: string }
    query?: { since?: string | undefined; until?: string | undefined }
    answer: { since: string; until: string; delivered: number; failed: number; successRate: number | null; p50: number | null; p99: number | null; hours: ({ hour: string; delivered: number; failed: number; successRate: number | null; p50: number | null; p99: number | null })[] }
  }
  /** Receivers in nine languages that verify the signatures */
  'GET /portal/subscribers/{id}/verification': {
    params: { id: string }
    answer: { url: string; signing: "v1" | "v1a" | "both"; languages: ({ id: string; name: string; file: string; code: string })[] }
  }
  /** Users, oldest first */
  'GET /users': {
    query?: { limit?: number | string | undefined; page?: number | string | undefined; sort?: string | undefined; q?: string | undefined; role?: string | undefined; blocked?: boolean | string | undefined; provider?: string | undefined; lastSeenSince?: string | undefined; lastSeenUntil?: string | undefined }
    answer: { data: ({ id: string; email: string | null; name: string | null; provider: string; providerId: string; role: "user" | "admin"; createdAt: string; blockedAt: string | null; lastSeenAt: string | null })[]; pagination: { page: number; limit: number; total: number; totalPages: number; hasNext: boolean; estimated?: true } }
  }
  /** Products, filtered and sorted */
  'GET /products': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined; sort?: string | undefined; category?: string | undefined; minPrice?: number | string | undefined; inStock?: string | undefined }
    answer: { data: ({ id: string; category: string; price: number; stock: number; name: string; createdAt: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Create a product */
  'POST /products': {
    body: { id?: string | undefined; category: string; price: number; stock: number; name: string; createdAt?: string | undefined }
    answer: { id: string; category: string; price: number; stock: number; name: string; createdAt: string }
  }
  /** Posts, newest first */
  'GET /api/posts': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ _id: string; title: string; body: string; createdAt: string })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Create a post */
  'POST /api/posts': {
    body: { _id?: string | undefined; title: string; body: string; createdAt?: string | undefined }
    answer: { _id: string; title: string; body: string; createdAt: string }
  }
  /** Change a product */
  'PATCH /products/{id}': {
    params: { id: string }
    body: { category?: string | undefined; price?: number | undefined; stock?: number | undefined; name?: string | undefined; createdAt?: string | undefined }
    answer: { id: string; category: string; price: number; stock: number; name: string; createdAt: string }
  }
  /** Delete a product */
  'DELETE /products/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Change a post */
  'PATCH /api/posts/{id}': {
    params: { id: string }
    body: { title?: string | undefined; body?: string | undefined; createdAt?: string | undefined }
    answer: { _id: string; title: string; body: string; createdAt: string }
  }
  /** Delete a post */
  'DELETE /api/posts/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** The lists that the caller can read, with fields, filters, sorts and writes */
  'GET /lists': {
    answer: { data: ({ name: string; path: string; summary: string; key: (string)[]; fields: ({ name: string; type: "text" | "enum" | "uuid" | "integer" | "bigint" | "number" | "real" | "numeric" | "boolean" | "time" | "milliseconds" | "timestamp" | "timeText" | "date" | "json"; nullable: boolean; values?: (string)[]; description: string })[]; filters: ({ parameter: string; operator: "equals" | "in" | "atLeast" | "above" | "atMost" | "below" | "prefix" | "iprefix" | "contains" | "icontains" | "not" | "notIn" | "has" | "flag" | "null" | "positiveWhenTrue" | "search"; field: string | null; type: "text" | "enum" | "uuid" | "integer" | "bigint" | "number" | "real" | "numeric" | "boolean" | "time" | "milliseconds" | "timestamp" | "timeText" | "date" | "json"; values?: (string)[]; description: string })[]; sorts: (string)[]; order: (string)[]; expansions: ({ name: string; from: (string)[] | null; many: boolean; fields: ({ name: string; type: "text" | "enum" | "uuid" | "integer" | "bigint" | "number" | "real" | "numeric" | "boolean" | "time" | "milliseconds" | "timestamp" | "timeText" | "date" | "json"; nullable: boolean; values?: (string)[]; description: string })[]; description: string })[]; pages: ("cursor" | "offset" | "keyset")[]; limit: { default: number; max: number }; total: "exact" | "estimate" | "none"; selectable: boolean; one: boolean; summaries: { by: (string)[]; sum: (string)[]; avg: (string)[]; min: (string)[]; max: (string)[] } | null; exports: ("ndjson" | "csv")[]; access: "public" | "user" | "admin"; writes: { create: unknown; change: unknown; delete: boolean } | null })[] }
  }
  /** Find events, deliveries, subscribers, people, apps, keys, sources and handlers */
  'GET /search': {
    query?: { q?: string | undefined }
    answer: { data: ({ kind: "event" | "order-key" | "delivery" | "subscriber" | "customer" | "event-type" | "source" | "handler" | "user" | "session" | "app" | "key"; id: string; title: string; detail: string | null })[] }
  }
  /** Alert destinations, newest first */
  'GET /alerts': {
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; kind: "email" | "slack" | "discord" | "teams"; name: string; conditions: ("subscriber-failing" | "subscriber-disabled" | "subscriber-secret-ends" | "handler-failing" | "event-loop" | "work-stalls" | "refusals-rising" | "source-secret-ends" | "source-secret-ended" | "key-expires" | "disk-fills" | "spooling" | "spool-full" | "spool-unavailable")[] | null; severity: "warning" | "error"; repeatSeconds: number | null; enabled: boolean; host: string | null; to: (string)[] | null; createdAt: string; updatedAt: string; lastSending: { id: string; what: "opened" | "repeated" | "resolved" | "test"; subject: string; status: "pending" | "sent" | "failed"; attempts: number; error: string | null; createdAt: string; nextAttemptAt: string | null; finishedAt: string | null } | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Add an alert destination: e-mail, Slack, Discord or Microsoft Teams */
  'POST /alerts': {
    body: { kind: "email" | "slack" | "discord" | "teams"; name: string; url?: string | undefined; to?: (string)[] | undefined; conditions?: ("subscriber-failing" | "subscriber-disabled" | "subscriber-secret-ends" | "handler-failing" | "event-loop" | "work-stalls" | "refusals-rising" | "source-secret-ends" | "source-secret-ended" | "key-expires" | "disk-fills" | "spooling" | "spool-full" | "spool-unavailable")[] | null | undefined; severity?: "warning" | "error" | undefined; repeatSeconds?: number | null | undefined; enabled?: boolean | undefined }
    answer: { id: string; kind: "email" | "slack" | "discord" | "teams"; name: string; conditions: ("subscriber-failing" | "subscriber-disabled" | "subscriber-secret-ends" | "handler-failing" | "event-loop" | "work-stalls" | "refusals-rising" | "source-secret-ends" | "source-secret-ended" | "key-expires" | "disk-fills" | "spooling" | "spool-full" | "spool-unavailable")[] | null; severity: "warning" | "error"; repeatSeconds: number | null; enabled: boolean; host: string | null; to: (string)[] | null; createdAt: string; updatedAt: string; lastSending: { id: string; what: "opened" | "repeated" | "resolved" | "test"; subject: string; status: "pending" | "sent" | "failed"; attempts: number; error: string | null; createdAt: string; nextAttemptAt: string | null; finishedAt: string | null } | null }
  }
  /** A destination's messages of the last 30 days, newest first */
  'GET /alerts/{id}/sendings': {
    params: { id: string }
    query?: { limit?: number | string | undefined; cursor?: string | undefined }
    answer: { data: ({ id: string; what: "opened" | "repeated" | "resolved" | "test"; subject: string; status: "pending" | "sent" | "failed"; attempts: number; error: string | null; createdAt: string; nextAttemptAt: string | null; finishedAt: string | null })[]; pageInfo: { hasNextPage: boolean; nextCursor: string | null } }
  }
  /** Change an alert destination */
  'PATCH /alerts/{id}': {
    params: { id: string }
    body: { url?: string | undefined; to?: (string)[] | undefined; name?: string | undefined; conditions?: ("subscriber-failing" | "subscriber-disabled" | "subscriber-secret-ends" | "handler-failing" | "event-loop" | "work-stalls" | "refusals-rising" | "source-secret-ends" | "source-secret-ended" | "key-expires" | "disk-fills" | "spooling" | "spool-full" | "spool-unavailable")[] | null | undefined; severity?: "warning" | "error" | undefined; repeatSeconds?: number | null | undefined; enabled?: boolean | undefined }
    answer: { id: string; kind: "email" | "slack" | "discord" | "teams"; name: string; conditions: ("subscriber-failing" | "subscriber-disabled" | "subscriber-secret-ends" | "handler-failing" | "event-loop" | "work-stalls" | "refusals-rising" | "source-secret-ends" | "source-secret-ended" | "key-expires" | "disk-fills" | "spooling" | "spool-full" | "spool-unavailable")[] | null; severity: "warning" | "error"; repeatSeconds: number | null; enabled: boolean; host: string | null; to: (string)[] | null; createdAt: string; updatedAt: string; lastSending: { id: string; what: "opened" | "repeated" | "resolved" | "test"; subject: string; status: "pending" | "sent" | "failed"; attempts: number; error: string | null; createdAt: string; nextAttemptAt: string | null; finishedAt: string | null } | null }
  }
  /** Delete an alert destination with its messages */
  'DELETE /alerts/{id}': {
    params: { id: string }
    answer: undefined
  }
  /** Send a test message now and return the destination's response */
  'POST /alerts/{id}/test': {
    params: { id: string }
    answer: { id: string; what: "opened" | "repeated" | "resolved" | "test"; subject: string; status: "pending" | "sent" | "failed"; attempts: number; error: string | null; createdAt: string; nextAttemptAt: string | null; finishedAt: string | null }
  }
}
