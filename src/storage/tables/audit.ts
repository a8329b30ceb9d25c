import type { Generated } from 'kysely'

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
