import type { Migration } from '../migrate.ts'

/**
 * A refresh token knows the one that it came from, so that two that came from one are told apart from one that goes on;
 * how often it came again, and from where it was used. Admins are found without reading all users.
 */
export const refreshTokenChains: Migration = {
  number: 4,
  name: 'refresh-token-chains',
  breaking: false,
  sqlite: `
    alter table refresh_tokens add column parent_hash blob;
    alter table refresh_tokens add column used_from text;
    alter table refresh_tokens add column replays integer not null default 0;
    create index refresh_tokens_of_parent on refresh_tokens (parent_hash) where parent_hash is not null;
    create index users_admins on users (id) where role = 'admin';
  `,
  postgres: `
    alter table refresh_tokens
      add column parent_hash bytea, add column used_from text collate "C", add column replays bigint not null default 0;
    create index refresh_tokens_of_parent on refresh_tokens (parent_hash) where parent_hash is not null;
    create index users_admins on users (id) where role = 'admin';
  `,
}
