import type { Generated } from 'kysely'

export interface AccountTables {
  users: UsersTable
  identities: IdentitiesTable
  sessions: SessionsTable
  api_keys: ApiKeysTable
  invitations: InvitationsTable
}

export type Role = 'user' | 'admin'

export interface UsersTable {
  id: string
  email: string | null
  name: string | null
  /** The identity that the user first signed in with, or another one after that was unlinked. */
  provider: string
  provider_id: string
  role: Role
  blocked_at: number | null
  created_at: number
  /** The last sign-in or request, to a minute; 0 for an imported user who has not signed in. */
  last_seen_at: Generated<number>
  /** JSON: the groups that an invitation or an admin gave; null for none. */
  groups: Generated<string | null>
}

/** The link between a provider's identity and a local user. The key is (provider, provider_id), never an e-mail. */
export interface IdentitiesTable {
  provider: string
  provider_id: string
  user_id: string
  email: string | null
  email_verified: number
  name: string | null
  /** An https or http address. */
  picture: string | null
  /** The `profileClaims` of the last sign-in as a JSON object, 4 KiB at most; null for none. */
  claims: string | null
  /** The groups of the last sign-in as a JSON array; null for none. */
  groups: string | null
  /** The group of these that made its members admins at the last sign-in; null for none. */
  admin_group: string | null
  created_at: number
  last_used_at: number
  /** When a sign-in last changed one of these values here or in the user's row; null: not since `created_at`. */
  updated_at: number | null
  /** The issuer of its id_token; null until a sign-in has recorded it. */
  issuer: string | null
}

/** What sessions of browsers and sign-ins of apps have in common. */
export interface SignInColumns {
  id: string
  user_id: string
  provider: string
  /** Of the browser in which the user signed in. */
  address: string | null
  user_agent: string | null
  created_at: number
  /** Of a session, written at most once a minute; of an app, when it last refreshed its tokens. */
  last_seen_at: number
  /** When the provider last authenticated the user: `auth_time` of the id_token if it has one, else the time of the sign-in. */
  authenticated_at: number
  /** How `authenticated_at` is known. */
  authentication_proof: AuthenticationProof | null
  /** `acr` of the id_token, and `amr` with spaces between its values. */
  acr: string | null
  amr: string | null
  /** The absolute end; the idle end is last_seen_at plus the idle time. */
  expires_at: number
  revoked_at: number | null
  /** The admin who acts for the user, and why; null for the user's own sign-in. */
  impersonator_id: string | null
  impersonation_reason: string | null
}

export interface SessionsTable extends SignInColumns {
  /** The session of the admin who acts for the user. This session ends with it. */
  impersonator_session_id: string | null
  /** SHA-256 of the cookie's token. */
  token_hash: Uint8Array
}

/**
 * `verified`: `auth_time` of the id_token. `asserted`: the provider gave no time, so it is that of the sign-in. `unproven`: the
 * provider gave a time that cannot be true.
 */
export type AuthenticationProof = 'verified' | 'asserted' | 'unproven'

export interface ApiKeysTable {
  id: string
  name: string
  /** `admin` for a key with the scope `admin`, else `user`. */
  role: Role
  /** Separated by spaces (RFC 6749, section 3.3). */
  scopes: string
  /** The first characters, which identify a key in a list. */
  prefix: string
  key_hash: Uint8Array
  created_at: number
  /** The actor of the audit log; null if unknown. */
  created_by: string | null
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

/** An invitation of a new user, which is used once. */
export interface InvitationsTable {
  id: string
  token_hash: Uint8Array
  /** In lower case. Only an identity with this verified address can use it; null for anybody who has the link. */
  email: string | null
  role: Role
  /** JSON; null for none. */
  groups: string | null
  created_at: number
  /** The actor of the audit log. */
  created_by: string
  expires_at: number
  revoked_at: number | null
  used_at: number | null
  /** The user who used it. */
  used_by: string | null
}

export interface AuditTables {
  audit_log: AuditLogTable
  audit_exports: AuditExportsTable
}

/** An action on an account. Rows are never updated, and outlive the account. */
export interface AuditLogTable {
  /** Grows with each entry: the position of a reader that follows the log. */
  seq: Generated<number>
  id: string
  created_at: number
  /** A name of accounts/audit/audit.ts. */
  action: string
  /** The user whose account it is about. */
  user_id: string | null
  /** See AuditOrigin.actor in accounts/audit/audit.ts; null if unknown. */
  actor: string | null
  session_id: string | null
  provider: string | null
  provider_id: string | null
  /** The other object that it is about, as `kind:id`, such as `session:<id>` or `subscriber:<id>`. */
  target: string | null
  /** Why it failed; null if it succeeded. */
  code: string | null
  support_id: string | null
  address: string | null
  user_agent: string | null
  /** JSON: details for people. */
  detail: string | null
}

/** The position up to which the audit log was forwarded: one row per destination. */
export interface AuditExportsTable {
  /** SHA-256 (hex) of the destination's address, so that a new destination starts with the first entry. */
  destination: string
  /** The `seq` of the last entry that the destination accepted. */
  position: number
  /** The process that forwards now, and until when no other process does. */
  claim: string | null
  claimed_until: number | null
  /** Since when the destination has failed, and why; null while it accepts entries. */
  failing_since: number | null
  last_error: string | null
  updated_at: number
}
