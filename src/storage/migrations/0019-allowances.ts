import type { Migration } from '../migrate.ts'

/** How much of a limit that holds for all processes is used, by whom. */
export const allowances: Migration = {
  number: 19,
  name: 'allowances',
  breaking: false,
  sqlite: `
    create table allowances (key text primary key, until integer not null) strict, without rowid;
  `,
  postgres: `
    create table allowances (key text collate "C" primary key, until bigint not null);
  `,
}
