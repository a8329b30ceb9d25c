import type { SchemaPart } from './dialect.ts'

/** Sessions at other hosts. */
export const forwardAuth: SchemaPart = {
  tables: ({ time, bytes, sortedText, strict }) => `
    -- One row for each cookie of a session at another host. The callback at that host inserts it; it ends with the session.
    create table host_sessions (
      token_hash ${bytes} primary key, session_id ${sortedText} not null references sessions (id) on delete cascade,
      host text not null, created_at ${time} not null
    ) ${strict};
    -- For the replacement of older tokens, and for the cascade.
    create index host_sessions_of_session on host_sessions (session_id);

    -- One row for each one-time code on its way to another host. The callback there deletes it.
    create table host_codes (
      code_hash ${bytes} primary key, session_id ${sortedText} not null references sessions (id) on delete cascade,
      host text not null, browser_hash ${bytes} not null, return_to text not null, expires_at ${time} not null
    ) ${strict};
    -- For the sweeper.
    create index host_codes_by_end on host_codes (expires_at);
    -- For the cascade.
    create index host_codes_of_session on host_codes (session_id);
  `,
}
