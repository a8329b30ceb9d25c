import type { Migration } from '../migrate.ts'

/**
 * What each API key may do. A key of an admin could do everything and goes on doing so; a key with the role user had no right.
 * Processes of the version before read `role` alone: to them, a key with narrow scopes has the role user and no right.
 */
export const keyScopes: Migration = {
  number: 17,
  name: 'key-scopes',
  breaking: false,
  sqlite: `
    alter table api_keys add column scopes text not null default '';
    update api_keys set scopes = 'admin' where role = 'admin';
  `,
  postgres: `
    alter table api_keys add column scopes text not null default '';
    update api_keys set scopes = 'admin' where role = 'admin';
  `,
}
