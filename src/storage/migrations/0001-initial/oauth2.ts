import type { SchemaPart } from './dialect.ts'

/** What the OpenID Provider stores besides tokens. */
export const oauth2: SchemaPart = {
  tables: ({ time, bytes, strict }) => `
    -- One row for each authorization request that waits for its user: pushed by the client, or parked during a sign-in.
    create table authorization_requests (
      request_hash ${bytes} primary key, client_id text not null, parameters text not null, pushed integer not null,
      created_at ${time} not null, expires_at ${time} not null
    ) ${strict};
    -- For the sweeper.
    create index authorization_requests_by_end on authorization_requests (expires_at);
  `,
}
