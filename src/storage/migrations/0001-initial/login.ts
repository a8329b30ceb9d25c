import type { SchemaPart } from './dialect.ts'

/** Sign-ins in progress, and the tokens that they end in: for apps, and of providers. */
export const login: SchemaPart = {
  tables: ({ time, bytes, bigint, sortedText, strict, strictByKey }) => `
    -- One row for each sign-in in progress. GET /auth/{provider} inserts it, and the callback marks it as used, so that a state
    -- is used once. The outcome stays for the same callback again. No foreign keys: the row lives for an hour, and the callback
    -- compares user and session with the request's.
    create table flows (
      state_hash ${bytes} primary key, browser_hash ${bytes} not null, provider text not null, callback_url text not null,
      purpose text not null, user_id text, session_id text, return_to text not null,
      nonce text, verifier ${bytes}, reauthentication_asked_at ${time},
      client_id text, client_redirect_uri text, client_state text, client_challenge text,
      new_user integer not null, invitation ${bytes}, pending ${bytes}, offer_hash ${bytes},
      expires_at ${time} not null, used_at ${time}, outcome text
    ) ${strict};
    -- For the sweeper.
    create index flows_by_end on flows (expires_at);

    -- One row for each sign-in of an app: its refresh tokens belong to it, and its access tokens name it as sid.
    create table token_families (
      id ${sortedText} primary key, user_id ${sortedText} not null references users (id) on delete cascade,
      client_id ${sortedText} not null, provider text not null, address text, user_agent text,
      created_at ${time} not null, last_seen_at ${time} not null, expires_at ${time} not null, revoked_at ${time},
      authenticated_at ${time} not null, authentication_proof ${sortedText}, acr ${sortedText}, amr ${sortedText},
      session_id ${sortedText}, scope text, resource text, claims text,
      impersonator_id ${sortedText}, impersonation_reason text
    ) ${strictByKey};
    -- For the list of a user's apps, and for the cascade. Revoked ones stay until the sweeper comes, and are passed over.
    create index token_families_of_user on token_families (user_id, revoked_at);
    -- For the end of the browser's session that the app signed in with.
    create index token_families_of_session on token_families (session_id) where session_id is not null;
    -- For the list of an app's sign-ins, for the end of a client, and to see whether it was ever used.
    create index token_families_of_client on token_families (client_id, id);
    -- For the sweeper.
    create index token_families_by_end on token_families (expires_at);

    -- One row for each authorization code. The callback inserts it, and its exchange for tokens marks it as used.
    -- family_id has no foreign key: it serves to revoke the family of a code that comes twice, and a deleted family has ended.
    create table authorization_codes (
      code_hash ${bytes} primary key, client_id text not null, redirect_uri text not null, challenge text,
      session_id ${sortedText}, scope text, resource text, nonce text, claims text,
      user_id ${sortedText} not null references users (id) on delete cascade, family_id text,
      provider text not null, address text, user_agent text,
      authenticated_at ${time} not null, authentication_proof ${sortedText}, acr ${sortedText}, amr ${sortedText},
      expires_at ${time} not null, used_at ${time}
    ) ${strict};
    -- For the sweeper.
    create index authorization_codes_by_end on authorization_codes (expires_at);
    -- For the end of all sign-ins of a user, and for the cascade.
    create index authorization_codes_of_user on authorization_codes (user_id);

    -- One row for each refresh token. POST /token inserts a new one at each use and marks the used one.
    -- parent_hash has no foreign key: a token ends, and is deleted, before those that were issued for it.
    create table refresh_tokens (
      token_hash ${bytes} primary key, family_id ${sortedText} not null references token_families (id) on delete cascade,
      parent_hash ${bytes}, created_at ${time} not null, expires_at ${time} not null,
      used_at ${time}, used_from ${sortedText}, replays ${bigint} not null default 0
    ) ${strictByKey};
    -- For the cascade.
    create index refresh_tokens_of_family on refresh_tokens (family_id);
    -- For the sweeper.
    create index refresh_tokens_by_end on refresh_tokens (expires_at);
    -- A used token that comes again: finds the tokens that were issued for it, and whether one of them was used.
    create index refresh_tokens_of_parent on refresh_tokens (parent_hash) where parent_hash is not null;

    -- One row for each key that signs access tokens. A rotation inserts it; it is deleted when no valid token needs it.
    create table signing_keys (
      kid text primary key, algorithm text not null, public_jwk text not null, private_jwk ${bytes} not null,
      created_at ${time} not null, active_at ${time} not null, retires_at ${time}
    ) ${strict};

    -- One row for each identity whose provider tokens are stored, by configuration. A sign-in or a refresh writes it.
    create table provider_tokens (
      provider text not null, provider_id text not null, access_token ${bytes} not null, refresh_token ${bytes}, scope text,
      expires_at ${time}, updated_at ${time} not null, claim text, claimed_until ${time}, primary key (provider, provider_id),
      foreign key (provider, provider_id) references identities (provider, provider_id) on delete cascade
    ) ${strict};
    -- Sealed values name their master key in bytes 2 to 5. A start finds values that it cannot open by one seek for each key.
    create index provider_tokens_access_token_master_key on provider_tokens (substr(access_token, 2, 4));
    create index provider_tokens_refresh_token_master_key on provider_tokens (substr(refresh_token, 2, 4));
  `,
}

/** The applications of the product that are not declared in the configuration module. */
export const clients: SchemaPart = {
  tables: ({ time, bytes, sortedText, strict, strictByKey }) => `
    -- One row for each client. An admin, an API key or a registration inserts it.
    create table clients (
      id ${sortedText} primary key, name text not null, confidential integer not null, origin text not null,
      settings text not null, created_at ${time} not null, updated_at ${time} not null, registered_from text
    ) ${strict};
    -- For the sweeper, which deletes registered clients that were never used.
    create index clients_registered on clients (created_at) where origin = 'registration';
    -- For each registration, which counts the unused ones of its address.
    create index clients_registered_from on clients (registered_from, created_at) where registered_from is not null;

    -- One row for each secret of a confidential client, two at most. A rotation inserts one and ends the older one.
    create table client_secrets (
      id ${sortedText} primary key, client_id ${sortedText} not null references clients (id) on delete cascade,
      prefix text not null, secret_hash ${bytes} not null, created_at ${time} not null, expires_at ${time}
    ) ${strict};
    -- For each authentication of the client, and for the cascade.
    create index client_secrets_of_client on client_secrets (client_id);
    -- For the sweeper.
    create index client_secrets_by_end on client_secrets (expires_at) where expires_at is not null;

    -- One row for each origin of a client's redirect URIs. Written with the client. Calls of pages find it by their origin.
    create table client_origins (
      origin ${sortedText} not null, client_id ${sortedText} not null references clients (id) on delete cascade,
      primary key (origin, client_id)
    ) ${strictByKey};
    -- For changes of the client, and for the cascade.
    create index client_origins_of_client on client_origins (client_id);

    -- One row for each assertion that was used: of a client, whose id is the issuer, or an id_token that a native app sent.
    create table used_assertions (
      issuer ${sortedText} not null, hash ${bytes} not null, expires_at ${time} not null, primary key (issuer, hash)
    ) ${strictByKey};
    -- For the sweeper.
    create index used_assertions_by_end on used_assertions (expires_at);
  `,
}

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

    -- One row for each ended sign-in of an app, until the app has been notified (OpenID Connect Back-Channel Logout).
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
