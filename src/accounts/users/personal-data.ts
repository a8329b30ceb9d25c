import { isoTime } from '../../runtime/iso-time.ts'
import type { Queryable } from '../../storage/database.ts'

type Value = string | number | null
type Row = Readonly<Record<string, Value>>

/** What is stored about one person, by table, without credentials and their hashes. Times are ISO 8601. */
type PersonalData = Readonly<Record<string, readonly Row[]>>

/**
 * All that is stored about a user, for a request of access (GDPR, article 15), without sign-ins in progress, which end within minutes.
 * Events and lists of the product are not in it.
 */
export async function readPersonalData(db: Queryable, id: string): Promise<PersonalData> {
  const account = await db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'provider', 'provider_id', 'role'])
    .select(['groups', 'blocked_at', 'created_at', 'last_seen_at'])
    .where('id', '=', id)
    .execute()
  const identities = await db
    .selectFrom('identities')
    .select(['provider', 'provider_id', 'issuer', 'email', 'email_verified', 'name', 'picture'])
    .select(['claims', 'groups', 'created_at', 'last_used_at', 'updated_at'])
    .where('user_id', '=', id)
    .execute()
  const invitations = await db
    .selectFrom('invitations')
    .select(['id', 'email', 'role', 'groups', 'created_at', 'created_by', 'expires_at', 'used_at'])
    .where('used_by', '=', id)
    .execute()
  const audit = await db
    .selectFrom('audit_log')
    .select(['created_at', 'action', 'actor', 'provider', 'provider_id', 'target', 'code', 'address'])
    .select(['user_agent', 'detail'])
    .where('user_id', '=', id)
    .orderBy('created_at')
    .execute()
  const tables = { account, identities, invitations, ...(await readSignIns(db, id)), audit }
  return Object.fromEntries(
    Object.entries(tables).map(([name, rows]) => [name, rows.map((row) => readable(row))]),
  )
}

/** Where the person is or was signed in, what they allowed, and which provider's tokens are stored. */
async function readSignIns(db: Queryable, id: string) {
  const sessions = await db
    .selectFrom('sessions')
    .select(['id', 'provider', 'address', 'user_agent', 'created_at', 'last_seen_at', 'expires_at'])
    .select(['revoked_at', 'authenticated_at', 'impersonator_id', 'impersonation_reason'])
    .where('user_id', '=', id)
    .execute()
  const hosts = await db
    .selectFrom('host_sessions as at_host')
    .innerJoin('sessions as session', 'session.id', 'at_host.session_id')
    .select(['at_host.session_id', 'at_host.host', 'at_host.created_at'])
    .where('session.user_id', '=', id)
    .execute()
  const apps = await db
    .selectFrom('token_families')
    .select(['id', 'client_id', 'provider', 'address', 'user_agent', 'created_at', 'last_seen_at'])
    .select(['expires_at', 'revoked_at', 'authenticated_at', 'impersonator_id', 'impersonation_reason'])
    .where('user_id', '=', id)
    .execute()
  const consents = await db
    .selectFrom('consents')
    .select(['client_id', 'scope', 'resource', 'granted_at', 'updated_at'])
    .where('user_id', '=', id)
    .execute()
  const providerTokens = await db
    .selectFrom('provider_tokens as token')
    .innerJoin('identities as identity', (join) =>
      join
        .onRef('identity.provider', '=', 'token.provider')
        .onRef('identity.provider_id', '=', 'token.provider_id'),
    )
    .select(['token.provider', 'token.provider_id', 'token.scope', 'token.expires_at', 'token.updated_at'])
    .where('identity.user_id', '=', id)
    .execute()
  return { sessions, hosts, apps, consents, providerTokens }
}

/** Times of columns are milliseconds since 1970; 0 of `last_seen_at` means never. */
function readable(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      name.endsWith('_at') && typeof value === 'number' ? (value === 0 ? null : isoTime(value)) : value,
    ]),
  )
}
