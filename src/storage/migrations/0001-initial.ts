import type { Migration } from '../migrate.ts'

/**
 * Both engines' statements are written out: the differences are few, and each side can be read as plain SQL.
 * PostgreSQL's texts are COLLATE "C", which is SQLite's BINARY: UTF-8 bytes, the same order on both.
 */
export const initial: Migration = {
  number: 1,
  name: 'initial',
  breaking: true,
  sqlite: `
    create table users (
      id text primary key, email text, name text, provider text not null, provider_id text not null,
      role text not null, blocked_at integer, created_at integer not null
    ) strict, without rowid;
    create table identities (
      provider text not null, provider_id text not null, user_id text not null references users (id) on delete cascade,
      email text, email_verified integer not null, name text, created_at integer not null, last_used_at integer not null,
      primary key (provider, provider_id)
    ) strict, without rowid;
    create index identities_of_user on identities (user_id);
    create table sessions (
      id text primary key, token_hash blob not null unique, user_id text not null references users (id) on delete cascade,
      provider text not null, address text, user_agent text, created_at integer not null, last_seen_at integer not null,
      authenticated_at integer not null, expires_at integer not null, revoked_at integer
    ) strict;
    create index sessions_of_user on sessions (user_id);
    create index sessions_by_end on sessions (expires_at);
    create table flows (
      state_hash blob primary key, browser_hash blob not null, provider text not null, callback_url text not null,
      purpose text not null, user_id text, session_id text, return_to text not null, nonce text, verifier blob,
      client_id text, client_redirect_uri text, client_state text, client_challenge text, client_scope text,
      expires_at integer not null
    ) strict;
    create index flows_by_end on flows (expires_at);
    create table authorization_codes (
      code_hash blob primary key, client_id text not null, redirect_uri text not null, challenge text not null,
      user_id text not null references users (id) on delete cascade, provider text not null, address text, user_agent text,
      authenticated_at integer not null, expires_at integer not null, used_at integer, family_id text
    ) strict;
    create index authorization_codes_by_end on authorization_codes (expires_at);
    create index authorization_codes_of_user on authorization_codes (user_id);
    create table token_families (
      id text primary key, user_id text not null references users (id) on delete cascade, client_id text not null,
      provider text not null, address text, user_agent text, created_at integer not null, last_seen_at integer not null,
      authenticated_at integer not null, expires_at integer not null, revoked_at integer
    ) strict, without rowid;
    create index token_families_of_user on token_families (user_id);
    create index token_families_by_end on token_families (expires_at);
    create table refresh_tokens (
      token_hash blob primary key, family_id text not null references token_families (id) on delete cascade,
      created_at integer not null, expires_at integer not null, used_at integer
    ) strict, without rowid;
    create index refresh_tokens_of_family on refresh_tokens (family_id);
    create index refresh_tokens_by_end on refresh_tokens (expires_at);
    create table signing_keys (
      kid text primary key, algorithm text not null, public_jwk text not null, private_jwk blob not null,
      created_at integer not null, active_at integer not null, retires_at integer
    ) strict;
    create table api_keys (
      id text primary key, name text not null, role text not null, prefix text not null, key_hash blob not null unique,
      created_at integer not null, expires_at integer, revoked_at integer, last_used_at integer
    ) strict;
    create table audit_log (
      id text primary key, created_at integer not null, action text not null, user_id text, actor text, provider text,
      provider_id text, target text, code text, support_id text, address text, user_agent text, detail text
    ) strict;
    create index audit_by_time on audit_log (created_at, id);
    create index audit_of_user on audit_log (user_id, created_at, id);
    create index audit_of_action on audit_log (action, created_at, id);
    create index audit_anonymous_failures on audit_log (created_at) where user_id is null and code is not null;
    create table provider_tokens (
      provider text not null, provider_id text not null, access_token blob not null, refresh_token blob, scope text,
      expires_at integer, updated_at integer not null, claim text, claimed_until integer, primary key (provider, provider_id),
      foreign key (provider, provider_id) references identities (provider, provider_id) on delete cascade
    ) strict;

    create table events (
      id integer primary key autoincrement, event_id text not null, direction text not null, source text,
      type text not null, content_type text not null, created_at integer not null, headers text, payload blob not null
    ) strict;
    create table inbox (
      event integer primary key, source text not null, event_id text not null, type text not null, status text not null,
      attempts integer not null default 0, attempts_before integer not null default 0, due_at integer not null,
      claim text, processed_at integer, unique (source, event_id)
    ) strict;
    create index inbox_due on inbox (source, type, due_at) where status = 'pending';
    create index inbox_failed on inbox (event) where status = 'failed';
    create table handler_failures (
      event integer not null, number integer not null, at integer not null, duration_ms integer not null,
      error text not null, primary key (event, number)
    ) strict, without rowid;
    create table outbox (
      event integer primary key, event_id text not null unique, digest blob not null
    ) strict;

    create table subscribers (
      id text primary key, url text not null, description text, event_types text not null, status text not null,
      disabled_reason text, retry_schedule text, timeout_ms integer, rate_limit real, concurrency integer, headers blob,
      ordered integer not null, signing text not null, created_at integer not null, updated_at integer not null
    ) strict;
    create table subscriber_secrets (
      id text primary key, subscriber_id text not null references subscribers (id) on delete cascade,
      scheme text not null, secret blob not null, created_at integer not null, expires_at integer
    ) strict;
    create index secrets_of_subscriber on subscriber_secrets (subscriber_id);
    create table deliveries (
      id integer primary key autoincrement, event integer not null,
      subscriber_id text not null references subscribers (id) on delete cascade,
      status text not null, attempts integer not null default 0, attempts_before integer not null default 0,
      due_at integer not null, claim text, created_at integer not null, finished_at integer
    ) strict;
    create index deliveries_due on deliveries (subscriber_id, due_at) where status = 'pending';
    create index deliveries_in_order on deliveries (subscriber_id, id) where status = 'pending';
    create index deliveries_of_subscriber on deliveries (subscriber_id, id);
    create index deliveries_of_event on deliveries (event, status);
    create table attempts (
      delivery integer not null, number integer not null, at integer not null,
      duration_ms integer not null, status integer, error text, request_headers text not null, response_headers text,
      response_body blob, primary key (delivery, number)
    ) strict, without rowid;
    create table jobs (
      id text primary key, kind text not null, subscriber_id text, filter text not null, status text not null,
      total integer not null, done integer not null, position integer not null, due_at integer not null, claim text,
      created_at integer not null, updated_at integer not null
    ) strict;
    create index jobs_due on jobs (due_at) where status = 'running';

    create table products (
      id text primary key, category text not null, price real not null, stock real not null, name text not null,
      created_at text not null
    ) strict;
    create index products_by_created on products (created_at, id);
    create index products_by_price on products (price, id);
    create index products_by_name on products (name, id);
    create index products_in_category_by_created on products (category, created_at, id);
    create index products_in_category_by_price on products (category, price, id);
    create table posts (
      id text primary key, title text not null, body text not null, created_at text not null
    ) strict;
    create index posts_by_created on posts (created_at desc, id desc);
  `,
  postgres: `
    create table users (
      id text collate "C" primary key, email text, name text, provider text not null, provider_id text not null,
      role text not null, blocked_at bigint, created_at bigint not null
    );
    create table identities (
      provider text not null, provider_id text not null,
      user_id text collate "C" not null references users (id) on delete cascade,
      email text, email_verified integer not null, name text, created_at bigint not null, last_used_at bigint not null,
      primary key (provider, provider_id)
    );
    create index identities_of_user on identities (user_id);
    create table sessions (
      id text collate "C" primary key, token_hash bytea not null unique,
      user_id text collate "C" not null references users (id) on delete cascade,
      provider text not null, address text, user_agent text, created_at bigint not null, last_seen_at bigint not null,
      authenticated_at bigint not null, expires_at bigint not null, revoked_at bigint
    );
    create index sessions_of_user on sessions (user_id);
    create index sessions_by_end on sessions (expires_at);
    create table flows (
      state_hash bytea primary key, browser_hash bytea not null, provider text not null, callback_url text not null,
      purpose text not null, user_id text, session_id text, return_to text not null, nonce text, verifier bytea,
      client_id text, client_redirect_uri text, client_state text, client_challenge text, client_scope text,
      expires_at bigint not null
    );
    create index flows_by_end on flows (expires_at);
    create table authorization_codes (
      code_hash bytea primary key, client_id text not null, redirect_uri text not null, challenge text not null,
      user_id text collate "C" not null references users (id) on delete cascade, provider text not null,
      address text, user_agent text, authenticated_at bigint not null, expires_at bigint not null, used_at bigint,
      family_id text
    );
    create index authorization_codes_by_end on authorization_codes (expires_at);
    create index authorization_codes_of_user on authorization_codes (user_id);
    create table token_families (
      id text collate "C" primary key, user_id text collate "C" not null references users (id) on delete cascade,
      client_id text not null, provider text not null, address text, user_agent text, created_at bigint not null,
      last_seen_at bigint not null, authenticated_at bigint not null, expires_at bigint not null, revoked_at bigint
    );
    create index token_families_of_user on token_families (user_id);
    create index token_families_by_end on token_families (expires_at);
    create table refresh_tokens (
      token_hash bytea primary key, family_id text collate "C" not null references token_families (id) on delete cascade,
      created_at bigint not null, expires_at bigint not null, used_at bigint
    );
    create index refresh_tokens_of_family on refresh_tokens (family_id);
    create index refresh_tokens_by_end on refresh_tokens (expires_at);
    create table signing_keys (
      kid text primary key, algorithm text not null, public_jwk text not null, private_jwk bytea not null,
      created_at bigint not null, active_at bigint not null, retires_at bigint
    );
    -- What processes keep in memory of sessions (see Revocations) ends with its row, whoever changes that: the service,
    -- the command line, or an operator in SQL.
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

    create table api_keys (
      id text collate "C" primary key, name text not null, role text not null, prefix text not null,
      key_hash bytea not null unique, created_at bigint not null, expires_at bigint, revoked_at bigint, last_used_at bigint
    );
    create table audit_log (
      id text collate "C" primary key, created_at bigint not null, action text not null, user_id text collate "C", actor text, provider text,
      provider_id text, target text, code text, support_id text, address text, user_agent text, detail text
    );
    create index audit_by_time on audit_log (created_at, id);
    create index audit_of_user on audit_log (user_id, created_at, id);
    create index audit_of_action on audit_log (action, created_at, id);
    create index audit_anonymous_failures on audit_log (created_at) where user_id is null and code is not null;
    create table provider_tokens (
      provider text not null, provider_id text not null, access_token bytea not null, refresh_token bytea, scope text,
      expires_at bigint, updated_at bigint not null, claim text, claimed_until bigint, primary key (provider, provider_id),
      foreign key (provider, provider_id) references identities (provider, provider_id) on delete cascade
    );

    create table events (
      id bigserial primary key, event_id text not null, direction text not null, source text,
      type text not null, content_type text not null, created_at bigint not null, headers text, payload bytea not null
    );

    -- Ids are given out before commit, so a lower id can become visible after a higher one. Every statement that
    -- inserts events first publishes, as a shared advisory lock that lasts until its transaction ends, the sequence's
    -- value at that moment: its own ids lie above. events_horizon() is the id up to which nothing can appear any more.
    create function events_publish_floor() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared((7226::bigint << 48)
        | (select case when is_called then last_value else last_value - 1 end from events_id_seq));
      return null;
    end $$;
    create trigger events_publish_floor before insert on events
      for each statement execute function events_publish_floor();
    -- The order matters: first the sequence, then the locks; the caller's rows come from a later snapshot.
    create function events_horizon() returns bigint language plpgsql volatile as $$
    declare
      highest bigint;
      floor bigint;
    begin
      select case when is_called then last_value else last_value - 1 end into highest from events_id_seq;
      select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1)) into floor from pg_locks
        where locktype = 'advisory' and objsubid = 1 and (classid::bigint >> 16) = 7226
          and database = (select oid from pg_database where datname = current_database());
      return least(highest, floor);
    end $$;

    create table inbox (
      event bigint primary key, source text not null, event_id text not null, type text not null, status text not null,
      attempts integer not null default 0, attempts_before integer not null default 0, due_at bigint not null,
      claim text, processed_at bigint, unique (source, event_id)
    );
    create index inbox_due on inbox (source, type, due_at) where status = 'pending';
    create index inbox_failed on inbox (event) where status = 'failed';
    create table inbox_claimers (id serial primary key);
    create table handler_failures (
      event bigint not null, number integer not null, at bigint not null, duration_ms integer not null,
      error text not null, primary key (event, number)
    );
    create table outbox (
      event bigint primary key, event_id text not null unique, digest bytea not null
    );

    create table subscribers (
      id text collate "C" primary key, url text not null, description text, event_types text not null,
      status text not null, disabled_reason text, retry_schedule text, timeout_ms integer,
      rate_limit double precision, concurrency integer, headers bytea, ordered integer not null, signing text not null,
      created_at bigint not null, updated_at bigint not null
    );
    create table subscriber_secrets (
      id text collate "C" primary key,
      subscriber_id text collate "C" not null references subscribers (id) on delete cascade,
      scheme text not null, secret bytea not null, created_at bigint not null, expires_at bigint
    );
    create index secrets_of_subscriber on subscriber_secrets (subscriber_id);
    create table deliveries (
      id bigserial primary key, event bigint not null,
      subscriber_id text collate "C" not null references subscribers (id) on delete cascade,
      status text not null, attempts integer not null default 0, attempts_before integer not null default 0,
      due_at bigint not null, claim text, created_at bigint not null, finished_at bigint
    );
    create index deliveries_due on deliveries (subscriber_id, due_at) where status = 'pending';
    create index deliveries_in_order on deliveries (subscriber_id, id) where status = 'pending';
    create index deliveries_of_subscriber on deliveries (subscriber_id, id);
    create index deliveries_of_event on deliveries (event, status);
    create table attempts (
      delivery bigint not null, number integer not null, at bigint not null,
      duration_ms integer not null, status integer, error text, request_headers text not null, response_headers text,
      response_body bytea, primary key (delivery, number)
    );
    create table jobs (
      id text collate "C" primary key, kind text not null, subscriber_id text, filter text not null,
      status text not null, total integer not null, done integer not null, position bigint not null,
      due_at bigint not null, claim text, created_at bigint not null, updated_at bigint not null
    );
    create index jobs_due on jobs (due_at) where status = 'running';

    create table products (
      id text collate "C" primary key, category text collate "C" not null, price double precision not null,
      stock double precision not null, name text collate "C" not null, created_at text collate "C" not null
    );
    create index products_by_created on products (created_at, id);
    create index products_by_price on products (price, id);
    create index products_by_name on products (name, id);
    create index products_in_category_by_created on products (category, created_at, id);
    create index products_in_category_by_price on products (category, price, id);
    create table posts (
      id text collate "C" primary key, title text not null, body text not null, created_at text collate "C" not null
    );
    create index posts_by_created on posts (created_at desc, id desc);
  `,
}
