import type { SchemaPart } from './dialect.ts'

/** Users, how they are recognised, and what they and programs authenticate with. */
export const accounts: SchemaPart = {
  tables: ({ engine, time, bytes, sortedText, strict, strictByKey }) => `
    -- One row for each person or account. The first sign-in of an identity inserts it; admins change role and block.
    -- Sign-ins and requests update last_seen_at; it is 0 for an imported user who has not signed in.
    -- provider and provider_id name one of its identities. No foreign key: identities refer to users already.
    create table users (
      id ${sortedText} primary key, email text, name text, provider text not null, provider_id text not null,
      role text not null, blocked_at ${time}, created_at ${time} not null, last_seen_at ${time} not null default 0
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
      email text, email_verified integer not null, name text, picture text, groups text, admin_group text,
      created_at ${time} not null, last_used_at ${time} not null, updated_at ${time},
      primary key (provider, provider_id)
    ) ${strictByKey};
    -- For the list of a user's identities, and for the cascade when the user is deleted.
    create index identities_of_user on identities (user_id);
    -- For the users that are admins by a group.
    create index identities_of_admin_groups on identities (provider, admin_group) where admin_group is not null;

    -- One row for each signed-in browser. A sign-in inserts it, and its requests update last_seen_at.
    create table sessions (
      id ${sortedText} primary key, token_hash ${bytes} not null unique,
      user_id ${sortedText} not null references users (id) on delete cascade,
      provider text not null, address text, user_agent text,
      created_at ${time} not null, last_seen_at ${time} not null, expires_at ${time} not null, revoked_at ${time},
      authenticated_at ${time} not null, authentication_proof ${sortedText}, acr ${sortedText}, amr ${sortedText}
    ) ${strict};
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
