interface FollowedTable {
  /** Of the functions and the trigger. */
  prefix: string
  table: string
  sequence: string
  /** The class of its advisory locks. */
  lockClass: number
  /** PL/pgSQL that assigns the last number of the sequence to `highest`. */
  readHighest: string
}

/**
 * For a table whose readers follow its sequence. PostgreSQL gives out numbers before the commit, so a lower number can become
 * visible after a higher one (docs/adr/0004-event-order.md).
 */
export const publishFloor = ({ prefix, table, sequence, lockClass, readHighest }: FollowedTable): string => `
    -- Each statement that inserts first publishes the last number that was given out, as a shared advisory lock that its transaction
    -- holds to its end: its own numbers are higher.
    -- The assignment is faster than perform or select: PL/pgSQL evaluates an expression that reads no table without a query.
    create function ${prefix}_publish_floor() returns trigger language plpgsql as $$
    declare
      published boolean;
    begin
      published := pg_advisory_xact_lock_shared((${lockClass}::bigint << 48)
        | coalesce(pg_sequence_last_value('${sequence}'::regclass), 0)) is null;
      return null;
    end $$;
    create trigger ${prefix}_publish_floor before insert on ${table}
      for each statement execute function ${prefix}_publish_floor();

    -- The number up to which no new row can become visible. It reads the sequence first and then the locks. The caller reads
    -- its rows in a later statement, whose snapshot includes everything up to the horizon.
    create function ${prefix}_horizon() returns bigint language plpgsql volatile as $$
    declare
      highest bigint;
      floor bigint;
    begin
      ${readHighest}
      select min(((classid::bigint << 32) | objid::bigint) & ((1::bigint << 48) - 1)) into floor from pg_locks
        where locktype = 'advisory' and objsubid = 1 and (classid::bigint >> 16) = ${lockClass}
          and database = (select oid from pg_database where datname = current_database());
      return least(highest, floor);
    end $$;
`
