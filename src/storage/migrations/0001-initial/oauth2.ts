import type { SchemaPart } from './dialect.ts'

/** What the OpenID Provider stores besides tokens: waiting requests, consents, device codes, and notices of ended sign-ins. */
export const oauth2: SchemaPart = {
  tables: ({ time, bytes, bigint, sortedText, strict, strictByKey }) => `
    -- One row for each authorization request that waits for its user: pushed by the client, or parked during a sign-in.
    create table authorization_requests (
      request_hash ${bytes} primary key, client_id text not null, parameters text not null, pushed integer not null,
      browser_hash ${bytes}, created_at ${time} not null, expires_at ${time} not null, used_at ${time}, outcome text
    ) ${strict};
    -- For the sweeper.
    create index authorization_requests_by_end on authorization_requests (expires_at);

    -- One row for each app that a user allowed. The consent page inserts it. No foreign key: apps may be in the configuration.
    create table consents (
      user_id ${sortedText} not null references users (id) on delete cascade, client_id ${sortedText} not null,
      scope text not null, resource text not null, granted_at ${time} not null, updated_at ${time} not null,
      primary key (user_id, client_id)
    ) ${strictByKey};
    -- For the end of a client.
    create index consents_of_client on consents (client_id);

    -- One row for each device that asks for a sign-in (RFC 8628). The device inserts it and polls it; a user approves it.
    create table device_codes (
      device_code_hash ${bytes} primary key, user_code_hash ${bytes} not null unique, client_id text not null,
      scope text not null, resource text, address text, user_agent text, status text not null,
      user_id ${sortedText} references users (id) on delete cascade, provider text,
      authenticated_at ${time}, authentication_proof ${sortedText}, acr ${sortedText}, amr ${sortedText},
      poll_interval ${bigint} not null, polled_at ${time}, created_at ${time} not null, expires_at ${time} not null
    ) ${strict};
    -- For the sweeper.
    create index device_codes_by_end on device_codes (expires_at);
    -- For the cascade.
    create index device_codes_of_user on device_codes (user_id) where user_id is not null;

    -- One row for each sign-in of an app that ended, until the app is told (OpenID Connect Back-Channel Logout).
    -- The transaction that ends the sign-in inserts it. No foreign keys: it outlives the token family.
    create table backchannel_logouts (
      family_id ${sortedText} primary key, user_id ${sortedText} not null, client_id text not null,
      attempts ${bigint} not null default 0, due_at ${time} not null, claimed_until ${time}, created_at ${time} not null,
      uri text, algorithm text
    ) ${strictByKey};
    -- For the worker that sends them.
    create index backchannel_logouts_due on backchannel_logouts (due_at);
  `,
}
