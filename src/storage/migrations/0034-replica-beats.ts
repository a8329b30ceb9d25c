import type { Migration } from '../migrate.ts'

/**
 * By what a process measures how far a standby is behind: it writes numbers here, and reads them on the standby
 * (docs/adr/0032). One row for each process that reads lists there. SQLite has no standbys.
 */
export const replicaBeats: Migration = {
  number: 34,
  name: 'replica-beats',
  breaking: false,
  sqlite: '',
  postgres: `
    create table replica_beats (
      process text collate "C" primary key, beat bigint not null, beat_at bigint not null
    ) with (fillfactor = 50);
  `,
}
