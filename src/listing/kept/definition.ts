import type { Engine } from '../../storage/query-runner.ts'
import { quoteTable } from '../names.ts'
import { keptName, terms, tuple, type KeptOrder } from './kept-order.ts'

/** Rows of a new bucket; one of twice as many is split. */
export const bucketSize = 1_000

/**
 * The statements that begin the keeping of an order, to be run in one transaction: three tables, triggers that note every
 * change in the transaction that makes it, and the first count. A change is an inserted row and never an update: writers
 * wait for nobody.
 */
export function beginKeeping(order: KeptOrder, table: string, engine: Engine): string[] {
  return engine === 'sqlite'
    ? [...sqliteTables(order), ...sqliteTriggers(order, table), ...fill(order)]
    : [...postgresTables(order), ...postgresTriggers(order, table), ...fill(order)]
}

export function endKeeping(order: KeptOrder, table: string, engine: Engine): string[] {
  const triggers = ['inserted', 'deleted', 'updated', 'truncated'].map((event) => keptName(table, event))
  const drops =
    engine === 'sqlite'
      ? triggers.map((name) => `drop trigger if exists ${quoteTable(name)}`)
      : [
          ...triggers.map(
            (name) => `drop trigger if exists ${quoteTable(name.split('.').at(-1)!)} on ${order.table}`,
          ),
          `drop function if exists ${quoteTable(keptName(table, 'note'))}()`,
        ]
  return [
    ...drops,
    ...[order.total, order.buckets, order.changes].map((name) => `drop table if exists ${name}`),
  ]
}

/** Counts anew. Nobody may write meanwhile. */
export function fill({ table, total, buckets, changes, columns, keys, descending }: KeptOrder): string[] {
  const by = terms(columns, descending)
  const numbered = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')},
    row_number() over (order by ${by}) - 1 as n, count(*) over () as rows_there from ${table}`
  return [
    `delete from ${changes}`,
    `delete from ${buckets}`,
    `delete from ${total}`,
    `insert into ${total} select 1, count(*) from ${table}`,
    `insert into ${buckets} (${keys.join(', ')}, size) select ${keys.join(', ')},
      case when rows_there - n < ${bucketSize} then rows_there - n else ${bucketSize} end
      from (${numbered}) as numbered where n % ${bucketSize} = 0`,
  ]
}

function sqliteTables({ total, buckets, changes, keys }: KeptOrder): string[] {
  return [
    `create table ${total} (one integer primary key, size integer not null)`,
    `create table ${buckets} (id integer primary key, ${keys.join(', ')}, size integer not null, unique (${keys.join(', ')}))`,
    `create table ${changes} (id integer primary key, ${keys.join(', ')}, size integer not null)`,
  ]
}

function sqliteTriggers({ table, changes, columns, keys }: KeptOrder, name: string): string[] {
  const note = (row: 'old' | 'new', size: 1 | -1): string =>
    `insert into ${changes} (${keys.join(', ')}, size) values (${columns.map((column) => `${row}.${column}`).join(', ')}, ${size});`
  const row = (of: string): string => tuple(columns.map((column) => `${of}.${column}`))
  const trigger = (event: string, when: string, body: string): string =>
    `create trigger ${quoteTable(keptName(name, event))} after ${when} begin ${body} end`
  return [
    trigger('inserted', `insert on ${table}`, note('new', 1)),
    trigger('deleted', `delete on ${table}`, note('old', -1)),
    trigger(
      'updated',
      `update of ${columns.join(', ')} on ${table} when ${row('old')} is not ${row('new')}`,
      `${note('old', -1)} ${note('new', 1)}`,
    ),
  ]
}

function postgresTables({ table, total, buckets, changes, columns, keys }: KeptOrder): string[] {
  const named = columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')
  return [
    `create table ${total} (one integer primary key, size bigint not null)`,
    `create table ${buckets} as select ${named}, 0::bigint as size from ${table} with no data`,
    `alter table ${buckets} add primary key (${keys.join(', ')}), add column id bigserial unique`,
    `create table ${changes} as select ${named}, 0::integer as size from ${table} with no data`,
  ]
}

function postgresTriggers(order: KeptOrder, name: string): string[] {
  const { table, total, buckets, changes, columns } = order
  const note = quoteTable(keptName(name, 'note'))
  const trigger = (event: string, when: string): string =>
    `create trigger ${quoteTable(keptName(name.split('.').at(-1)!, event))} after ${when} execute function ${note}()`
  const row = (of: string): string => columns.map((column) => `${of}.${column}`).join(', ')
  return [
    `create function ${note}() returns trigger language plpgsql as $note$
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
