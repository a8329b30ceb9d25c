import { tuple, type CountedOrder } from './counted-order.ts'

export function sqliteTables({ total, buckets, changes, keys }: CountedOrder): string[] {
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
export function sqliteTriggers({ table, changes, columns, keys, named }: CountedOrder): string[] {
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

export function dropSqliteTriggers({ named }: CountedOrder): string[] {
  return ['inserted', 'deleted', 'updated'].map((name) => `drop trigger if exists ${named(name)}`)
}
