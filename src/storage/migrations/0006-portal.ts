import type { Migration } from '../migrate.ts'

/** Links by which owners come to the pages for their own subscribers, and the sessions that they begin there. */
export const portal: Migration = {
  number: 6,
  name: 'portal',
  breaking: false,
  sqlite: `
    create table portal_links (
      token_hash blob primary key, owner text not null, session_ms integer not null, created_at integer not null,
      expires_at integer not null
    ) strict, without rowid;
    create index portal_links_of_owner on portal_links (owner);
    create index portal_links_by_end on portal_links (expires_at);
    create table portal_sessions (
      id text primary key, token_hash blob not null unique, owner text not null, created_at integer not null,
      expires_at integer not null
    ) strict;
    create index portal_sessions_of_owner on portal_sessions (owner);
    create index portal_sessions_by_end on portal_sessions (expires_at);
  `,
  postgres: `
    create table portal_links (
      token_hash bytea primary key, owner text collate "C" not null, session_ms bigint not null,
      created_at bigint not null, expires_at bigint not null
    );
    create index portal_links_of_owner on portal_links (owner);
    create index portal_links_by_end on portal_links (expires_at);
    create table portal_sessions (
      id text collate "C" primary key, token_hash bytea not null unique, owner text collate "C" not null,
      created_at bigint not null, expires_at bigint not null
    );
    create index portal_sessions_of_owner on portal_sessions (owner);
    create index portal_sessions_by_end on portal_sessions (expires_at);
  `,
}
