import type { SchemaPart } from './dialect.ts'
import { publishFloor } from './publish-floor.ts'

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
