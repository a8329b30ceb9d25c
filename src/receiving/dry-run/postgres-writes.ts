import { sql } from 'kysely'
import type { PostgresDatabase, Tx } from '../../storage/database.ts'
import {
  changedColumns,
  mostShown,
  showValue,
  WriteList,
  type Row,
  type WriteRecorder,
  type WrittenTable,
} from './writes.ts'

/** Milliseconds that the search of one table may take. */
const searchLimit = 1_500

/** How often a table was written in the session, as the server counts. */
interface Counts {
  id: number
  schema: string
  name: string
  inserted: number
  updated: number
  deleted: number
}

interface Found {
  row: Row
  /** The place of the row's version in the table. */
  place: string
}

/**
 * Records by what the server knows of an open transaction: how many rows of each table it wrote, and its number in the versions of
 * rows (`xmin`, `xmax`). Another session sees the versions before it. Nothing is locked and no trigger is needed; the search reads the
 * written tables, within a time limit. https://www.postgresql.org/docs/current/ddl-system-columns.html
 */
export async function postgresRecorder(database: PostgresDatabase, tx: Tx): Promise<WriteRecorder> {
  // Counts of earlier transactions of the session may not be reported yet.
  const before = await readCounts(tx)
  return {
    async read() {
      const list = new WriteList()
      const written = (await readCounts(tx)).flatMap((now) => {
        const then = before.find(({ id }) => id === now.id)
        const difference = { ...now }
        for (const counter of ['inserted', 'updated', 'deleted'] as const)
          difference[counter] -= then?.[counter] ?? 0
        return difference.inserted + difference.updated + difference.deleted > 0 ? [difference] : []
      })
      const numbers = await ownNumbers(tx)
      for (const counts of written.slice(0, mostShown.tables + 1)) {
        const table = list.table(counts.schema === 'public' ? counts.name : `${counts.schema}.${counts.name}`)
        const { inserted, updated, deleted } = counts
        Object.assign(table, { inserted, updated, deleted })
        await addRows({ database, tx, numbers, counts, table, list })
      }
      return list.result(['Sequences go on: the numbers that they gave out are not given out again.'])
    },
    close: () => undefined,
  }
}

async function readCounts(tx: Tx): Promise<Counts[]> {
  const { rows } = await sql<Counts>`
    select relid::int8 as id, schemaname as schema, relname as name,
      n_tup_ins::int4 as inserted, n_tup_upd::int4 as updated, n_tup_del::int4 as deleted
    from pg_stat_xact_user_tables where n_tup_ins + n_tup_upd + n_tup_del > 0 and schemaname not like 'pg_temp%'
    order by schemaname, relname`.execute(tx)
  return rows
}

/** The numbers of the transaction and its savepoints. It holds a lock on each. */
async function ownNumbers(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ number: string }>`
    select transactionid::text as number from pg_locks
    where locktype = 'transactionid' and pid = pg_backend_pid() and mode = 'ExclusiveLock' and granted`.execute(
    tx,
  )
  return rows.map(({ number }) => number)
}

interface TableSearch {
  database: PostgresDatabase
  tx: Tx
  numbers: readonly string[]
  counts: Counts
  table: WrittenTable
  list: WriteList
}

async function addRows(search: TableSearch): Promise<void> {
  const { tx, table } = search
  await sql`savepoint postern_search`.execute(tx)
  try {
    await sql.raw(`set local statement_timeout = ${searchLimit}`).execute(tx)
    await findRows(search)
    await sql`release savepoint postern_search`.execute(tx)
  } catch {
    table.note = 'Its rows could not be found in time: the table is large.'
    await sql`rollback to savepoint postern_search`.execute(tx)
  }
  await sql`set local statement_timeout to default`.execute(tx)
}

async function findRows({ database, tx, numbers, counts, table, list }: TableSearch): Promise<void> {
  const from = sql.id(counts.schema, counts.name)
  const numbersText = `{${numbers.join(',')}}`
  const { rows: after } = await sql<Found>`
    select ${shownRow} as row, ctid::text as place from only ${from} t
    where xmin = any (${numbersText}::xid[]) limit ${sql.lit(mostShown.rows + 1)}`.execute(tx)
  const old = await versionsBefore(database, counts, numbersText)
  const { rows: locked } = await sql<{ place: string }>`
    select ctid::text as place from only ${from} where ctid = any (${`{${old.map(({ place }) => `"${place}"`).join(',')}}`}::tid[])`.execute(
    tx,
  )
  // A version that this transaction still sees is only locked, neither changed nor deleted.
  const stays = new Set(locked.map(({ place }) => place))
  const before = old.filter(({ place }) => !stays.has(place))
  const keys = await keyColumns(tx, counts.id)
  addPairs(list, table, { keys, before, after })
}

/** The versions of rows that the transaction replaced or deleted, as others see them. */
async function versionsBefore(database: PostgresDatabase, { schema, name }: Counts, numbers: string) {
  const client = await database.pool.connect()
  try {
    await client.query(`begin read only; set local statement_timeout = ${searchLimit}`)
    const quoted = `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)}`
    const { rows } = await client.query<Found>(
      `select ${shownRowText} as row, ctid::text as place from only ${quoted} t
        where xmax = any ($1::xid[]) limit ${mostShown.rows + 1}`,
      [numbers],
    )
    return rows
  } finally {
    await client.query('rollback').catch(() => undefined)
    client.release()
  }
}

/** The row as JSON, long values cut by the server. */
const shownRowText = `(
  select coalesce(jsonb_object_agg(key, case when length(value::text) > ${mostShown.value}
    then to_jsonb(left(value #>> '{}', ${mostShown.value}) || '…') else value end), '{}') from jsonb_each(to_jsonb(t)))`
const shownRow = sql.raw(shownRowText)

async function keyColumns(tx: Tx, table: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = ${table}::oid and i.indisprimary order by a.attnum`.execute(tx)
  return rows.map(({ name }) => name)
}

function addPairs(
  list: WriteList,
  { table }: WrittenTable,
  { keys, before, after }: { keys: readonly string[]; before: readonly Found[]; after: readonly Found[] },
): void {
  const shown = ({ row }: Found): Row =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, showValue(name, value)]))
  const keyOf = ({ row }: Found): string => JSON.stringify(keys.map((name) => row[name]))
  const keyRow = (row: Row): Row => Object.fromEntries(keys.map((name) => [name, row[name]]))
  const old = new Map(before.map((found) => [keys.length === 0 ? found.place : keyOf(found), found]))
  for (const found of after) {
    const row = shown(found)
    const replaced = keys.length === 0 ? undefined : old.get(keyOf(found))
    if (!replaced) {
      list.add(table, { operation: 'insert', key: keyRow(row), before: null, after: row })
      continue
    }
    old.delete(keyOf(found))
    list.add(table, { operation: 'update', key: keyRow(row), ...changedColumns(shown(replaced), row) })
  }
  for (const found of old.values()) {
    const row = shown(found)
    list.add(table, { operation: 'delete', key: keyRow(row), before: row, after: null })
  }
}
