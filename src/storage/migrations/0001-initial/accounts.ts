import type { Generated } from 'kysely'
import { type EngineSql, table, tableByKey, typed } from './table.ts'
import { publishFloor } from './servers.ts'

export type Role = 'user' | 'admin'

/**
 * `verified`: `auth_time` of the id_token. `asserted`: the provider gave no time, so it is that of the sign-in. `unproven`: the
 * provider gave a time that cannot be true.
 */
export type AuthenticationProof = 'verified' | 'asserted' | 'unproven'

/** What sessions of browsers and sign-ins of apps have in common. */
export const signIn = {
  provider: 'text not null',
  /** Of the browser in which the user signed in. */
  address: 'text',
  user_agent: 'text',
  created_at: 'time not null',
  /** Of a session, written at most once a minute; of an app, when it last refreshed its tokens. */
  last_seen_at: 'time not null',
  /** The absolute end; the idle end is last_seen_at plus the idle time. */
  expires_at: 'time not null',
  revoked_at: 'time',
  /** When the provider last authenticated the user: `auth_time` of the id_token if it has one, else the time of the sign-in. */
  authenticated_at: 'time not null',
  /** How `authenticated_at` is known. */
  authentication_proof: typed<AuthenticationProof | null>('sortedText'),
  /** `acr` of the id_token, and `amr` with spaces between its values. */
  acr: 'sortedText',
  amr: 'sortedText',
} as const

export const impersonation = {
  /** The admin who acts for the user, and why; null for the user's own sign-in. */
  impersonator_id: 'sortedText',
  impersonation_reason: 'text',
} as const

/** Users, how they are recognised, and what they and programs authenticate with. */
export const accounts = {
  /**
   * One row for each person or account. The first sign-in of an identity inserts it; admins change role and block.
   * provider and provider_id name one of its identities. No foreign key: identities refer to users already.
   */
  users: tableByKey({
    id: 'sortedText primary key',
    email: 'text',
    name: 'text',
    /** The identity that the user first signed in with, or another one after that was unlinked. */
    provider: 'text not null',
    provider_id: 'text not null',
    role: typed<Role>('text not null'),
    blocked_at: 'time',
    created_at: 'time not null',
    /** Time of the last sign-in or request, accurate to a minute; 0 for an imported user who has never signed in. */
    last_seen_at: 'time not null default 0',
    /** JSON: the groups that an invitation or an admin gave, beside those of providers; null for none. */
    groups: 'text',
    // The last admin cannot be removed. This finds the admins without reading all users.
    'index users_admins': "(id) where role = 'admin'",
    // For the filters, the search and the orders of GET /users.
    'index users_blocked': '(provider, id) where blocked_at is not null',
    'index users_of_provider': '(provider, id)',
    'index users_by_last_seen': '(last_seen_at, id)',
    'index users_of_provider_by_last_seen': '(provider, last_seen_at, id)',
  }),

  /** One row for each account at a provider that belongs to a user. Its key is never an e-mail. A sign-in inserts it and updates it. */
  identities: tableByKey({
    provider: 'text not null',
    provider_id: 'text not null',
    /** The issuer of its id_token; null until a sign-in has recorded it. */
    issuer: 'sortedText',
    user_id: 'sortedText not null references users (id) on delete cascade',
    email: 'text',
    email_verified: 'integer not null',
    name: 'text',
    /** An https or http address. */
    picture: 'text',
    /** The `profileClaims` of the last sign-in as a JSON object, 4 KiB at most; null for none. */
    claims: 'text',
    /** The groups of the last sign-in as a JSON array; null for none. */
    groups: 'text',
    /** The group of these that made its members admins at the last sign-in; null for none. */
    admin_group: 'text',
    created_at: 'time not null',
    last_used_at: 'time not null',
    /** When a sign-in last changed one of these values here or in the user's row; null: not since `created_at`. */
    updated_at: 'time',
    'primary key': '(provider, provider_id)',
    // For the list of a user's identities, and for the cascade when the user is deleted.
    'index identities_of_user': '(user_id)',
    // For the first sign-in of an identity, which looks for users with the same verified address.
    'index identities_of_address': '(lower(email)) where email_verified = 1',
    // For the users that are admins by a group.
    'index identities_of_admin_groups': '(provider, admin_group) where admin_group is not null',
  }),

  /** One row for each signed-in browser. A sign-in inserts it, and its requests update last_seen_at. */
  sessions: table({
    id: 'sortedText primary key',
    /** SHA-256 of the cookie's token. */
    token_hash: 'bytes not null unique',
    user_id: 'sortedText not null references users (id) on delete cascade',
    ...signIn,
    ...impersonation,
    /** The session of the admin who acts for the user. This session ends with it. */
    impersonator_session_id: 'sortedText references sessions (id) on delete cascade',
    // For the end of an admin's session, which ends those that the admin opened from it, and for the cascade.
    'index sessions_of_impersonator': '(impersonator_session_id) where impersonator_session_id is not null',
    // For the list of a user's sessions, and for the cascade. Revoked ones stay until the sweeper comes, and are passed over.
    'index sessions_of_user': '(user_id, revoked_at)',
    // For the sweeper, which deletes expired sessions.
    'index sessions_by_end': '(expires_at)',
  }),

  /** One row for each API key. Admins insert it; a revoked key stays, so that the list can show it. */
  api_keys: table({
    id: 'sortedText primary key',
    name: 'text not null',
    /** `admin` for a key with the scope `admin`, else `user`. */
    role: typed<Role>('text not null'),
    /** Separated by spaces (RFC 6749, section 3.3). */
    scopes: "text not null default ''",
    /** The first characters, which identify a key in a list. */
    prefix: 'text not null',
    key_hash: 'bytes not null unique',
    created_at: 'time not null',
    /** The actor of the audit log; null if unknown. */
    created_by: 'text',
    expires_at: 'time',
    revoked_at: 'time',
    last_used_at: 'time',
    // For keys that expire soon.
    'index api_keys_by_end': '(expires_at) where expires_at is not null and revoked_at is null',
  }),

  /**
   * One row for each invitation. An admin or a key inserts it, and the first sign-in of a new user uses it once. It goes with the
   * user that it brought.
   */
  invitations: table({
    id: 'sortedText primary key',
    token_hash: 'bytes not null unique',
    /** In lower case. Only an identity with this verified address can use it; null for anybody who has the link. */
    email: 'text',
    role: typed<Role>('text not null'),
    /** JSON; null for none. */
    groups: 'text',
    created_at: 'time not null',
    /** The actor of the audit log. */
    created_by: 'text not null',
    expires_at: 'time not null',
    revoked_at: 'time',
    used_at: 'time',
    /** The user who used it. */
    used_by: 'sortedText references users (id) on delete cascade',
    // For the cascade.
    'index invitations_used_by': '(used_by) where used_by is not null',
    // For the sweeper.
    'index invitations_by_end': '(expires_at)',
  }),
}

export const accountsOn: EngineSql = {
  sqlite: `
    create index users_by_email on users (lower(email));
    create index users_by_name on users (lower(name));
  `,
  postgres: `
    create index users_by_email on users ((lower(email) collate "C"));
    create index users_by_name on users ((lower(name) collate "C"));

    -- Every process caches sessions in memory (storage/postgres/session/revocations.ts). These triggers tell all processes which cached
    -- sessions are void, also when an operator changes the rows in SQL. The payload is '-' and the id of a user.
    create function revocations_announce() returns trigger language plpgsql as $$
    begin
      perform pg_notify('postern_revocations', '-' || case tg_argv[0] when 'id' then old.id else to_jsonb(old) ->> 'user_id' end);
      return null;
    end $$;
    create trigger users_revoked after update of role, blocked_at on users for each row
      when (old.role <> new.role or old.blocked_at is distinct from new.blocked_at)
      execute function revocations_announce('id');
    create trigger users_deleted after delete on users for each row execute function revocations_announce('id');
    create trigger sessions_revoked after update of token_hash, revoked_at, expires_at on sessions for each row
      when (old.revoked_at is null) execute function revocations_announce('user_id');
    create trigger sessions_deleted after delete on sessions for each row
      when (old.revoked_at is null) execute function revocations_announce('user_id');
  `,
}

/**
 * The audit log and the state of its forwarding. A reader that follows `seq` must not miss a late commit. On SQLite one
 * transaction writes at a time, so numbers become visible in order. On PostgreSQL the log has a horizon, as events have.
 */
export const audit = {
  /**
   * One row for each action on an account, a key or a subscriber, and for each failed sign-in. The transaction of the action
   * inserts it. Rows are never updated; they are deleted after AUDIT_RETENTION.
   * No foreign keys: an entry outlives the user, session or subscriber that it is about.
   */
  audit_log: table({
    /** Grows with each entry: the position of a reader that follows the log. */
    seq: typed<Generated<number>>({
      sqlite: 'integer primary key autoincrement',
      postgres: 'bigint not null',
    }),
    id: typed<string>({ sqlite: 'text not null unique', postgres: 'sortedText primary key' }),
    created_at: 'time not null',
    /** A name of accounts/audit/audit.ts. */
    action: 'text not null',
    /** The user whose account it is about. */
    user_id: 'sortedText',
    /** See AuditOrigin.actor in accounts/audit/audit.ts; null if unknown. */
    actor: 'text',
    session_id: 'text',
    provider: 'text',
    provider_id: 'text',
    /** The other object that it is about, as `kind:id`, such as `session:<id>` or `subscriber:<id>`. */
    target: 'text',
    /** Why it failed; null if it succeeded. */
    code: 'text',
    support_id: 'text',
    address: 'text',
    user_agent: 'text',
    /** JSON: details for people. */
    detail: 'text',
    // For the pages of the log, of a user and of an action, and for the deletion of old entries. The last columns of the second one
    // find the actions and failures of a user without reading the other entries.
    'index audit_by_time': '(created_at, id)',
    'index audit_of_user': '(user_id, created_at, id, action, code)',
    'index audit_of_action': '(action, created_at, id)',
    // For the filters of the log: who did it, what it is about, from where, the reference ID (http/pages/page-view.ts), and failures.
    'index audit_of_actor': '(actor, created_at, id) where actor is not null',
    'index audit_of_target': '(target, created_at, id) where target is not null',
    'index audit_of_address': '(address, created_at, id) where address is not null',
    'index audit_of_reference': '(substr(support_id, 1, 8), created_at, id) where support_id is not null',
    'index audit_of_failures': '(created_at, id) where code is not null',
    // For the sign-ins of each provider that GET /providers counts, and its last check.
    'index audit_of_provider':
      "(provider, action, created_at) where action in ('user.signed_in', 'sign_in.failed', 'provider.checked')",
    // Failures without a user are deleted earlier, because strangers can cause any number of them.
    'index audit_anonymous_failures': '(created_at) where user_id is null and code is not null',
  }),

  /** One row for each destination that the log is forwarded to. The process that holds the claim forwards and updates it. */
  audit_exports: tableByKey({
    /** SHA-256 (hex) of the destination's address, so that a new destination starts with the first entry. */
    destination: 'sortedText primary key',
    /** The `seq` of the last entry that the destination accepted. */
    position: 'bigint not null',
    /** The process that forwards now, and until when no other process does. */
    claim: 'text',
    claimed_until: 'time',
    /** Since when the destination has failed, and why; null while it accepts entries. */
    failing_since: 'time',
    last_error: 'text',
    updated_at: 'time not null',
  }),
}

export const auditOn: EngineSql = {
  postgres: `
    create sequence audit_log_seq owned by audit_log.seq;
    alter table audit_log alter seq set default nextval('audit_log_seq');
    -- For readers that follow the log.
    create unique index audit_in_order on audit_log (seq);
    ${publishFloor({
      prefix: 'audit',
      table: 'audit_log',
      sequence: 'audit_log_seq',
      lockClass: 7227,
      readHighest: "highest := coalesce(pg_sequence_last_value('audit_log_seq'::regclass), 0);",
    })}`,
}
