import type { SchemaPart } from './dialect.ts'
import { publishFloor } from './servers.ts'

/** Users, how they are recognised, and what they and programs authenticate with. */
export const accounts: SchemaPart = {
  tables: ({ engine, time, bytes, sortedText, strict, strictByKey }) => `
    -- One row for each person or account. The first sign-in of an identity inserts it; admins change role and block.
    -- Sign-ins and requests update last_seen_at; it is 0 for an imported user who has not signed in.
    -- provider and provider_id name one of its identities. No foreign key: identities refer to users already.
    -- groups are those that an invitation or an admin gave, beside those of providers.
    create table users (
      id ${sortedText} primary key, email text, name text, provider text not null, provider_id text not null,
      role text not null, blocked_at ${time}, created_at ${time} not null, last_seen_at ${time} not null default 0, groups text
    ) ${strictByKey};
    -- The last admin cannot be removed. This finds the admins without reading all users.
    create index users_admins on users (id) where role = 'admin';
    -- For the filters, the search and the orders of GET /users.
    create index users_blocked on users (provider, id) where blocked_at is not null;
    create index users_of_provider on users (provider, id);
    create index users_by_last_seen on users (last_seen_at, id);
    create index users_of_provider_by_last_seen on users (provider, last_seen_at, id);
    create index users_by_email on users (${engine === 'postgres' ? '(lower(email) collate "C")' : 'lower(email)'});
    create index users_by_name on users (${engine === 'postgres' ? '(lower(name) collate "C")' : 'lower(name)'});

    -- One row for each account at a provider that belongs to a user. A sign-in inserts it and updates it.
    create table identities (
      provider text not null, provider_id text not null, issuer ${sortedText},
      user_id ${sortedText} not null references users (id) on delete cascade,
      email text, email_verified integer not null, name text, picture text, claims text, groups text, admin_group text,
      created_at ${time} not null, last_used_at ${time} not null, updated_at ${time},
      primary key (provider, provider_id)
    ) ${strictByKey};
    -- For the list of a user's identities, and for the cascade when the user is deleted.
    create index identities_of_user on identities (user_id);
    -- For the first sign-in of an identity, which looks for users with the same verified address.
    create index identities_of_address on identities (lower(email)) where email_verified = 1;
    -- For the users that are admins by a group.
    create index identities_of_admin_groups on identities (provider, admin_group) where admin_group is not null;

    -- One row for each signed-in browser. A sign-in inserts it, and its requests update last_seen_at.
    -- The columns of an impersonator are set while an admin acts for the user: the admin, the admin's own session, and why.
    create table sessions (
      id ${sortedText} primary key, token_hash ${bytes} not null unique,
      user_id ${sortedText} not null references users (id) on delete cascade,
      provider text not null, address text, user_agent text,
      created_at ${time} not null, last_seen_at ${time} not null, expires_at ${time} not null, revoked_at ${time},
      authenticated_at ${time} not null, authentication_proof ${sortedText}, acr ${sortedText}, amr ${sortedText},
      impersonator_id ${sortedText}, impersonation_reason text,
      impersonator_session_id ${sortedText} references sessions (id) on delete cascade
    ) ${strict};
    -- For the end of an admin's session, which ends those that the admin opened from it, and for the cascade.
    create index sessions_of_impersonator on sessions (impersonator_session_id) where impersonator_session_id is not null;
    -- For the list of a user's sessions, and for the cascade. Revoked ones stay until the sweeper comes, and are passed over.
    create index sessions_of_user on sessions (user_id, revoked_at);
    -- For the sweeper, which deletes expired sessions.
    create index sessions_by_end on sessions (expires_at);

    -- One row for each API key. Admins insert it; a revoked key stays, so that the list can show it.
    create table api_keys (
      id ${sortedText} primary key, name text not null, role text not null, scopes text not null default '',
      prefix text not null, key_hash ${bytes} not null unique,
      created_at ${time} not null, created_by text, expires_at ${time}, revoked_at ${time}, last_used_at ${time}
    ) ${strict};
    -- For keys that expire soon.
    create index api_keys_by_end on api_keys (expires_at) where expires_at is not null and revoked_at is null;

    -- One row for each invitation. An admin or a key inserts it, and the first sign-in of a new user uses it once. It goes with the
    -- user that it brought.
    create table invitations (
      id ${sortedText} primary key, token_hash ${bytes} not null unique, email text, role text not null, groups text,
      created_at ${time} not null, created_by text not null, expires_at ${time} not null, revoked_at ${time},
      used_at ${time}, used_by ${sortedText} references users (id) on delete cascade
    ) ${strict};
    -- For the cascade.
    create index invitations_used_by on invitations (used_by) where used_by is not null;
    -- For the sweeper.
    create index invitations_by_end on invitations (expires_at);
  `,
  postgres: `
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

/** SQLite counts up nothing but a primary key. On PostgreSQL the primary key is the id, which callers know. */
const keys = {
  sqlite: 'seq integer primary key autoincrement, id text not null unique',
  postgres: `seq bigint not null default nextval('audit_log_seq'), id text collate "C" primary key`,
}

/**
 * The audit log and the state of its forwarding. A reader that follows `seq` must not miss a late commit. On SQLite one
 * transaction writes at a time, so numbers become visible in order. On PostgreSQL the log has a horizon, as events have.
 */
export const audit: SchemaPart = {
  tables: ({ engine, time, bigint, sortedText, strict, strictByKey }) => `
    ${engine === 'postgres' ? 'create sequence audit_log_seq;' : ''}
    -- One row for each action on an account, a key or a subscriber, and for each failed sign-in. The transaction of the action
    -- inserts it. Rows are never updated; they are deleted after AUDIT_RETENTION.
    -- No foreign keys: an entry outlives the user, session or subscriber that it is about.
    create table audit_log (
      ${keys[engine]}, created_at ${time} not null, action text not null,
      user_id ${sortedText}, actor text, session_id text, provider text, provider_id text, target text,
      code text, support_id text, address text, user_agent text, detail text
    ) ${strict};
    -- For the pages of the log, of a user and of an action, and for the deletion of old entries. The last columns of the second one
    -- find the actions and failures of a user without reading the other entries.
    create index audit_by_time on audit_log (created_at, id);
    create index audit_of_user on audit_log (user_id, created_at, id, action, code);
    create index audit_of_action on audit_log (action, created_at, id);
    -- For the filters of the log: who did it, what it is about, from where, the reference ID (http/pages/page-view.ts), and failures.
    create index audit_of_actor on audit_log (actor, created_at, id) where actor is not null;
    create index audit_of_target on audit_log (target, created_at, id) where target is not null;
    create index audit_of_address on audit_log (address, created_at, id) where address is not null;
    create index audit_of_reference on audit_log (substr(support_id, 1, 8), created_at, id) where support_id is not null;
    create index audit_of_failures on audit_log (created_at, id) where code is not null;
    -- For the sign-ins of each provider that GET /providers counts, and its last check.
    create index audit_of_provider on audit_log (provider, action, created_at)
      where action in ('user.signed_in', 'sign_in.failed', 'provider.checked');
    -- Failures without a user are deleted earlier, because strangers can cause any number of them.
    create index audit_anonymous_failures on audit_log (created_at) where user_id is null and code is not null;

    -- One row for each destination that the log is forwarded to. The process that holds the claim forwards and updates it.
    create table audit_exports (
      destination ${sortedText} primary key, position ${bigint} not null, claim text, claimed_until ${time},
      failing_since ${time}, last_error text, updated_at ${time} not null
    ) ${strictByKey};
  `,
  postgres: `
    alter sequence audit_log_seq owned by audit_log.seq;
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
