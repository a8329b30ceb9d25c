import type { Migration } from '../migrate.ts'

/** Finds the dead letters of the last hour, which may not have been told when the process ended. */
export const deadLetters: Migration = {
  number: 10,
  name: 'dead-letters',
  breaking: false,
  sqlite: `create index deliveries_dead on deliveries (finished_at) where status = 'dead';`,
  postgres: `create index deliveries_dead on deliveries (finished_at) where status = 'dead';`,
}
