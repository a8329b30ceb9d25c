import type { SchemaPart } from './dialect.ts'

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

    -- One row for each client assertion that was used. No foreign key: declared clients have no row.
    create table client_assertions (
      client_id ${sortedText} not null, jti_hash ${bytes} not null, expires_at ${time} not null,
      primary key (client_id, jti_hash)
    ) ${strictByKey};
    -- For the sweeper.
    create index client_assertions_by_end on client_assertions (expires_at);
  `,
}
