import type { Migration } from '../migrate.ts'

/** How many webhooks were refused, by day: of the refused ones themselves only the last few are kept. */
export const rejectedCounts: Migration = {
  number: 12,
  name: 'rejected-counts',
  breaking: false,
  sqlite: `
    create table rejected_counts (
      day integer not null, source text not null, reason text not null, count integer not null, last_at integer not null,
      primary key (day, source, reason)
    ) strict, without rowid;
  `,
  postgres: `
    create table rejected_counts (
      day bigint not null, source text not null, reason text not null, count bigint not null, last_at bigint not null,
      primary key (day, source, reason)
    );
  `,
}
