import { quote } from '../names.ts'
import { tuple, type KeptOrder } from './kept-order.ts'
import type { UniqueKey } from './unique-keys.ts'

export function sqliteTables({ total, buckets, changes, keys }: KeptOrder): string[] {
  return [
    `create table ${total} (one integer primary key, size integer not null)`,
    `create table ${buckets} (id integer primary key, ${keys.join(', ')}, size integer not null, unique (${keys.join(', ')}))`,
    `create table ${changes} (id integer primary key, ${keys.join(', ')}, size integer not null)`,
  ]
}

/**
 * SQLite runs no delete trigger for a row that `INSERT OR REPLACE` or `UPDATE OR REPLACE` puts another one in the place of,
 * unless the connection has `recursive_triggers` on; nothing but a trigger in front of the change sees that row. So the
 * rows that a change may replace are remembered before it. Those that are gone after it were deleted, and are noted if no
 * delete trigger did. A change that comes to nothing leaves its memory to the next one, which clears it.
 */
export function sqliteTriggers(order: KeptOrder, unique: readonly UniqueKey[]): string[] {
  const { table, changes, columns, keys, named } = order
  const replaced = named('replaced')
  const key = { column: columns.at(-1)!, kept: keys.at(-1)! }
  const uniqueColumns = unique.flatMap(({ columns }) => columns.map(({ name }) => quote(name)))
  // What holds for some rows only may begin to hold by a change of any column.
  const ofUnique = unique.some(({ condition }) => condition !== undefined)
    ? ''
    : ` of ${[...new Set(uniqueColumns)].join(', ')}`

  const valuesOf = (row: 'old' | 'new'): string => columns.map((column) => `${row}.${column}`).join(', ')
  const note = (row: 'old' | 'new', size: 1 | -1): string =>
    `insert into ${changes} (${keys.join(', ')}, size) values (${valuesOf(row)}, ${size});`
  const clear = `delete from ${replaced} where true;`
  const remember = (besides: string): string => {
    const found = unique.map(({ columns: own, condition }) => {
      const same = own.map(
        ({ name, collation }) => `${quote(name)} = new.${quote(name)} collate ${quote(collation)}`,
      )
      if (condition !== undefined) same.push(`(${condition})`)
      return `select ${columns.join(', ')} from ${table} where ${same.join(' and ')}${besides}`
    })
    return `${clear} insert into ${replaced} ${found.join(' union ')};`
  }
  const noteReplaced = `insert into ${changes} (${keys.join(', ')}, size) select ${keys.join(', ')}, -1 from ${replaced}
    where ${key.kept} = new.${key.column} or not exists (select 1 from ${table} where ${key.column} = ${key.kept}); ${clear}`

  const trigger = (name: string, when: string, body: string): string =>
    `create trigger ${named(name)} ${when} begin ${body} end`
  return [
    `create table ${replaced} (${keys.join(', ')})`,
    trigger('inserting', `before insert on ${table}`, remember('')),
    trigger('inserted', `after insert on ${table}`, `${noteReplaced} ${note('new', 1)}`),
    trigger(
      'deleted',
      `after delete on ${table}`,
      `delete from ${replaced} where ${key.kept} = old.${key.column}; ${note('old', -1)}`,
    ),
    trigger(
      'updating',
      `before update${ofUnique} on ${table}`,
      remember(` and ${key.column} <> old.${key.column}`),
    ),
    trigger('replacing', `after update${ofUnique} on ${table}`, noteReplaced),
    trigger(
      'updated',
      `after update of ${columns.join(', ')} on ${table} when ${tuple(rowOf('old', columns))} is not ${tuple(rowOf('new', columns))}`,
      `${note('old', -1)} ${note('new', 1)}`,
    ),
  ]
}

function rowOf(row: 'old' | 'new', columns: readonly string[]): string[] {
  return columns.map((column) => `${row}.${column}`)
}

export function dropSqliteTriggers({ named }: KeptOrder): string[] {
  const triggers = ['inserting', 'inserted', 'deleted', 'updating', 'replacing', 'updated']
  return [
    ...triggers.map((name) => `drop trigger if exists ${named(name)}`),
    `drop table if exists ${named('replaced')}`,
  ]
}
