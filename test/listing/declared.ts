// Tables as users have them, of every type, and the lists that are declared for them.
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { type Engine, execute } from '../harness/index.ts'

export const measurements = {
  path: '/measurements',
  table: 'measurements',
  summary: 'Measurements',
  access: 'public',
  fields: {
    id: { type: 'bigint', description: 'Beyond 2^53' },
    text: { type: 'text', column: 'a_text', nullable: true },
    uuid: { type: 'uuid' },
    small: { type: 'integer', nullable: true },
    real: { type: 'real' },
    double: { type: 'number', nullable: true },
    exact: { type: 'numeric', nullable: true },
    at: { type: 'timestamp', nullable: true },
    day: { type: 'date' },
    fine: { type: 'boolean' },
    state: { type: 'enum', values: ['new', 'done', 'odd'] },
    extra: { type: 'json', nullable: true },
    owner: { type: 'text', hidden: true },
  },
  key: 'id',
  order: ['-at'],
  sort: ['id', 'text', 'uuid', 'small', 'real', 'double', 'exact', 'at', 'day', 'fine', 'state'],
} as const

const ddl = {
  sqlite: [
    `create table measurements (
      id integer primary key, a_text text collate nocase, uuid text not null, small integer, real real not null,
      double real, exact numeric, at text, day text not null, fine boolean not null, state text not null,
      extra text, owner text not null)`,
  ],
  postgres: [
    `create type state_of_measurement as enum ('new', 'done', 'odd')`,
    `create table measurements (
      id bigint primary key, a_text text, uuid uuid not null, small smallint, real real not null,
      double double precision, exact numeric, at timestamptz, day date not null, fine boolean not null,
      state state_of_measurement not null, extra jsonb, owner text not null)`,
  ],
}

export interface Measurement {
  id: bigint
  a_text: string | null
  uuid: string
  small: number | null
  real: number
  double: number | null
  exact: string | null
  at: string | null
  day: string
  fine: boolean
  state: 'new' | 'done' | 'odd'
  extra: string | null
  owner: string
}

export async function createTables(url: string, more: readonly string[] = []): Promise<void> {
  const database = await openDatabase(url)
  await execute(database, ...ddl[database.engine], ...more)
  await database.close()
}

/** The statements that create the table of `measurements`. */
export const tablesOf = ({ name }: Engine): readonly string[] => ddl[name]

export async function insertRows(database: Database, rows: readonly Measurement[]): Promise<void> {
  const flag = (value: boolean): unknown => (database.engine === 'sqlite' ? Number(value) : value)
  const tuples = rows.map((row) => {
    const values = Object.values({ ...row, id: String(row.id), fine: flag(row.fine) })
    return sql`(${sql.join(values)})`
  })
  const names = sql.join(Object.keys(rows[0]!).map((name) => sql.ref(name)))
  const insert = sql`insert into measurements (${names}) values ${sql.join(tuples)} returning 1 as one`
  await database.transaction((tx) => insert.execute(tx))
}

const from = <T>(values: readonly T[], index: number): T => values[index % values.length]!

/** Rows whose keys tie, are null, lie a microsecond apart, and are beyond what JavaScript's numbers hold. */
export function measurement(index: number): Measurement {
  return {
    id: 9_007_199_254_740_993n + BigInt(index) * 3n,
    a_text: from(['b', null, 'A', 'a', '', 'é', 'B', '😀'], index * 7),
    uuid: `00000000-0000-4000-8000-${String((index * 7919) % 97).padStart(12, '0')}`,
    small: from([null, 3, -2, 0, 3, 32_767], index * 5),
    real: from([0.1, 0.2, 1 / 3, 16_777_217, -0.1, 1e-30], index * 11),
    double: from([null, 0.1 + 0.2, 0.3, 1e300, -5e-324, 0], index * 3),
    exact: from(['0.1', '0.10', null, '12345678901234567', '-3', '2.5'], index),
    at:
      from([null, '.000000', '.000137', '.000274', '.999999'], index) &&
      `2026-01-31 08:30:00${from(['', '.000000', '.000137', '.000274', '.999999'], index)}+00`,
    day: `2026-02-${String(1 + ((index * 13) % 28)).padStart(2, '0')}`,
    fine: index % 3 === 0,
    state: from(['new', 'done', 'odd'], index * 2),
    extra: from([null, '{"a":[1,"x"]}', '"=1+1"'], index),
    owner: from(['ada', 'bob'], index),
  }
}

export async function insertMeasurements(database: Database, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => measurement((index * 37) % count))
  await insertRows(database, rows)
}
