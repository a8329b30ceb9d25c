import type { KeptOrder } from './kept-order.ts'

export function postgresTables({ table, total, buckets, changes, columns, keys }: KeptOrder): string[] {
  const named = columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')
  return [
    `create table ${total} (one integer primary key, size bigint not null)`,
    `create table ${buckets} as select ${named}, 0::bigint as size from ${table} with no data`,
    `alter table ${buckets} add primary key (${keys.join(', ')}), add column id bigserial unique`,
    `create table ${changes} as select ${named}, 0::integer as size from ${table} with no data`,
  ]
}

/** The function writes as who made it, and where it was made: whoever may write to the table need not know of it. */
export function postgresTriggers(order: KeptOrder): string[] {
  const { table, total, buckets, changes, columns, named } = order
  const note = named('note')
  const trigger = (event: string, when: string): string =>
    `create trigger ${named(event, true)} after ${when} execute function ${note}()`
  const row = (of: string): string => columns.map((column) => `${of}.${column}`).join(', ')
  return [
    `create function ${note}() returns trigger language plpgsql security definer set search_path from current as $note$
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
      `update of ${columns.join(', ')} on ${table} for each row when ((${row('old')}) is distinct from (${row('new')}))`,
    ),
    trigger('truncated', `truncate on ${table} for each statement`),
  ]
}

export function dropPostgresTriggers({ table, named }: KeptOrder): string[] {
  return [
    ...['inserted', 'deleted', 'updated', 'truncated'].map(
      (event) => `drop trigger if exists ${named(event, true)} on ${table}`,
    ),
    `drop function if exists ${named('note')}()`,
  ]
}
