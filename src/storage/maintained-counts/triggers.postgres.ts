import type { CountedOrder } from './counted-order.ts'

export function postgresTables({ table, total, buckets, changes, columns, keys }: CountedOrder): string[] {
  const named = columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')
  return [
    `create table ${total} (one integer primary key, size bigint not null)`,
    `create table ${buckets} as select ${named}, 0::bigint as size from ${table} with no data`,
    `alter table ${buckets} add primary key (${keys.join(', ')}), add column id bigserial unique`,
    `create table ${changes} as select ${named}, 0::integer as size from ${table} with no data`,
  ]
}

/**
 * The trigger function runs with the rights and the search path of its owner: a role that may write to the table needs no
 * rights on the tables of the counts.
 *
 * The trigger of updates names no columns: PostgreSQL would run it only for statements that set one of them, and not when a
 * trigger before the change sets it.
 */
export function postgresTriggers(order: CountedOrder): string[] {
  const { table, total, buckets, changes, columns, named } = order
  const record = named('note')
  const trigger = (event: string, when: string): string =>
    `create trigger ${named(event, true)} after ${when} execute function ${record}()`
  const row = (of: string): string => columns.map((column) => `${of}.${column}`).join(', ')
  return [
    `create function ${record}() returns trigger language plpgsql security definer set search_path from current as $note$
    begin
      if tg_op = 'INSERT' then
        insert into ${changes} select ${columns.join(', ')}, 1 from changed_rows;
      elsif tg_op = 'DELETE' then
        insert into ${changes} select ${columns.join(', ')}, -1 from changed_rows;
      elsif tg_op = 'UPDATE' then
        insert into ${changes} values (${row('old')}, -1), (${row('new')}, 1);
      else
        lock table ${changes} in exclusive mode;
        delete from ${changes};
        delete from ${buckets};
        update ${total} set size = 0;
      end if;
      return null;
    end $note$`,
    trigger('inserted', `insert on ${table} referencing new table as changed_rows for each statement`),
    trigger('deleted', `delete on ${table} referencing old table as changed_rows for each statement`),
    trigger(
      'updated',
      `update on ${table} for each row when ((${row('old')}) is distinct from (${row('new')}))`,
    ),
    trigger('truncated', `truncate on ${table} for each statement`),
  ]
}

export function dropPostgresTriggers({ table, named }: CountedOrder): string[] {
  return [
    ...['inserted', 'deleted', 'updated', 'truncated'].map(
      (event) => `drop trigger if exists ${named(event, true)} on ${table}`,
    ),
    `drop function if exists ${named('note')}()`,
  ]
}
