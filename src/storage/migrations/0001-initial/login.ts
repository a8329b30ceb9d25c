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
      session_id ${sortedText}, scope text, resource text
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
      session_id ${sortedText}, scope text, resource text, nonce text,
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
