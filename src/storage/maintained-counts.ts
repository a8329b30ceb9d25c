import type { Engine } from './query-runner.ts'
import { hash } from 'node:crypto'
import { longestName, quote, quoteTable } from './sql-text.ts'

/** Rows of a new bucket. A bucket with twice as many is split. */
export const bucketSize = 1_000

/**
 * The statements that create the counts of an order and fill them, to be run in one transaction: three tables, and triggers
 * that record each change in the transaction that makes it. A change is an inserted row and never an update, so that writers
 * do not wait for each other.
 *
 * Migrations use this text. After a release, a change of the triggers needs a migration that creates them again.
 */
export function createCounts(order: CountedOrder, engine: Engine): string[] {
  const tables = engine === 'sqlite' ? sqliteTables(order) : postgresTables(order)
  return [...tables, ...createTriggers(order, engine), ...fillCounts(order)]
}

export function createTriggers(order: CountedOrder, engine: Engine): string[] {
  return engine === 'sqlite' ? sqliteTriggers(order) : postgresTriggers(order)
}

export function dropTriggers({ table, named }: CountedOrder, engine: Engine): string[] {
  const events = ['inserted', 'deleted', 'updated']
  if (engine === 'sqlite') return events.map((name) => `drop trigger if exists ${named(name)}`)
  const triggers = [...events, 'truncated'].map((name) => named(name, true))
  return [
    ...triggers.map((name) => `drop trigger if exists ${name} on ${table}`),
    `drop function if exists ${named('note')}()`,
  ]
}

export function dropCounts(order: CountedOrder, engine: Engine): string[] {
  const tables = [order.total, order.buckets, order.changes]
  return [...dropTriggers(order, engine), ...tables.map((name) => `drop table if exists ${name}`)]
}

/** Counts all rows again. No other transaction may write meanwhile. */
export function fillCounts(order: CountedOrder): string[] {
  const { table, total, buckets, changes } = order
  return [
    `delete from ${changes}`,
    `delete from ${buckets}`,
    `delete from ${total}`,
    `insert into ${total} select 1, count(*) from ${table}`,
    insertBuckets(order),
  ]
}

/**
 * Inserts the buckets of the rows that meet `conditions`.
 * @param firstExists whether the bucket that begins with the first of these rows is there already.
 */
export function insertBuckets(
  { table, buckets, columns, keys, descending }: CountedOrder,
  conditions: readonly string[] = [],
  firstExists = false,
): string {
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const numbered = `select ${columns.map((column, index) => `${column} as ${keys[index]}`).join(', ')},
    row_number() over (order by ${orderTerms(columns, descending)}) - 1 as n, count(*) over () as row_count from ${table}${where}`
  return `insert into ${buckets} (${keys.join(', ')}, size) select ${keys.join(', ')},
    case when row_count - n < ${bucketSize} then row_count - n else ${bucketSize} end
    from (${numbered}) as numbered where n % ${bucketSize} = 0${firstExists ? ' and n > 0' : ''}`
}

function postgresTables({ table, total, buckets, changes, columns, keys }: CountedOrder): string[] {
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
function postgresTriggers(order: CountedOrder): string[] {
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

function sqliteTables({ total, buckets, changes, keys }: CountedOrder): string[] {
  return [
    `create table ${total} (one integer primary key, size integer not null)`,
    `create table ${buckets} (id integer primary key, ${keys.join(', ')}, size integer not null, unique (${keys.join(', ')}))`,
    `create table ${changes} (id integer primary key, ${keys.join(', ')}, size integer not null)`,
  ]
}

/**
 * SQLite runs no delete trigger for a row that `INSERT OR REPLACE` or `UPDATE OR REPLACE` removes, unless the connection has
 * `recursive_triggers` on. Such a row stays in the counts until they are rebuilt (docs/adr/0011).
 *
 * The trigger of updates names no columns: SQLite compares the names alone, and a statement may set an integer key as `rowid`.
 */
function sqliteTriggers({ table, changes, columns, keys, named }: CountedOrder): string[] {
  const valuesOf = (row: 'old' | 'new'): string[] => columns.map((column) => `${row}.${column}`)
  const record = (row: 'old' | 'new', size: 1 | -1): string =>
    `insert into ${changes} (${keys.join(', ')}, size) values (${valuesOf(row).join(', ')}, ${size});`
  const trigger = (name: string, when: string, body: string): string =>
    `create trigger ${named(name)} after ${when} begin ${body} end`
  const moved = `${tuple(valuesOf('old'))} is not ${tuple(valuesOf('new'))}`
  return [
    trigger('inserted', `insert on ${table}`, record('new', 1)),
    trigger('deleted', `delete on ${table}`, record('old', -1)),
    trigger('updated', `update on ${table} when ${moved}`, `${record('old', -1)} ${record('new', 1)}`),
  ]
}

/** An order of a table's rows. Every key has the same direction, none may be null, and the last one is unique. */
export interface OrderColumns {
  /** With its schema, if it has one. */
  table: string
  columns: readonly string[]
  descending: boolean
}

/**
 * An order whose rows are counted in buckets. The position of a row is found by adding up the sizes of the buckets before it.
 * All names are quoted.
 */
export interface CountedOrder {
  table: string
  /** The three tables that hold the counts. */
  total: string
  buckets: string
  changes: string
  /** The name of a trigger or function; `local` leaves out the schema. */
  named: (what: string, local?: boolean) => string
  /** The columns of the order, and their names in `buckets` and `changes`. */
  columns: readonly string[]
  keys: readonly string[]
  descending: boolean
}

export function countedOrder(order: OrderColumns): CountedOrder {
  const named = (what: string, local = false): string => quoteTable(countsName(order, what, local))
  return {
    table: quoteTable(order.table),
    total: named('total'),
    buckets: named('buckets'),
    changes: named('changes'),
    named,
    columns: order.columns.map(quote),
    keys: order.columns.map((_, index) => `k${index}`),
    descending: order.descending,
  }
}

/**
 * `postern_orders_total` for one ascending key, otherwise `postern_orders_by_placed_at_desc_id_desc_total`, in the table's
 * schema. Lists of one table may have different default orders; lists with the same order share their counts.
 */
export function countsName(
  { table, columns, descending }: OrderColumns,
  what: string,
  local = false,
): string {
  const [schema, name] = table.includes('.') ? table.split('.', 2) : [undefined, table]
  const suffix = columns.map((column) => `${column}${descending ? '_desc' : ''}`).join('_')
  const full = `postern_${name}${columns.length === 1 && !descending ? '' : `_by_${suffix}`}`
  const room = longestName - what.length - 1
  const short = Buffer.byteLength(full) <= room ? full : `postern_${hash('sha256', full, 'hex').slice(0, 16)}`
  return `${schema === undefined || local ? '' : `${schema}.`}${short}_${what}`
}

/** `(a, b)`, or `a` for a single part. */
export function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`
}

/** The terms of an `order by`. */
export function orderTerms(columns: readonly string[], descending: boolean): string {
  return columns.map((column) => `${column}${descending ? ' desc' : ''}`).join(', ')
}
