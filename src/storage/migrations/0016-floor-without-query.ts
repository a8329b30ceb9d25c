import type { Migration } from '../migrate.ts'

/**
 * What every statement that inserts events does first on PostgreSQL, without a query: PL/pgSQL evaluates an expression that reads no
 * table by itself (https://www.postgresql.org/docs/current/plpgsql-expressions.html), where `perform` and `select` are run by the
 * executor. Of a sequence that has given nothing out, the last value is null.
 */
export const floorWithoutQuery: Migration = {
  number: 16,
  name: 'floor-without-query',
  breaking: false,
  sqlite: '',
  postgres: `
    create or replace function events_publish_floor() returns trigger language plpgsql as $$
    declare
      published boolean;
    begin
      published := pg_advisory_xact_lock_shared((7226::bigint << 48)
        | coalesce(pg_sequence_last_value('events_id_seq'::regclass), 0)) is null;
      return null;
    end $$;
  `,
}
