import type { Migration } from '../migrate.ts'

const leases = `
  alter table inbox add column leased_until bigint;
  update inbox set leased_until = due_at where status = 'pending' and claim is not null;
`

/**
 * A lease has a column of its own, which is in no index: to claim an event then moves no entry of one. On PostgreSQL that
 * takes room for a second version of each row on its page (docs/adr/0016-leases-apart.md).
 */
export const leasesApart: Migration = {
  number: 15,
  name: 'leases-apart',
  breaking: true,
  sqlite: leases.replace('bigint', 'integer'),
  postgres: `${leases} alter table inbox set (fillfactor = 50);`,
}
