import type { Generated } from 'kysely'
import type { Engine } from '../../query-runner.ts'

/** The words of definitions in which the two engines differ, so that each table is written once. */
const words = {
  /** Milliseconds since 1970. */
  time: { sqlite: 'integer', postgres: 'bigint' },
  bigint: { sqlite: 'integer', postgres: 'bigint' },
  double: { sqlite: 'real', postgres: 'double precision' },
  bytes: { sqlite: 'blob', postgres: 'bytea' },
  /**
   * Text whose order matters: PostgreSQL compares it by its bytes, as SQLite compares all text. Plain `text` is only
   * compared for equality.
   */
  sortedText: { sqlite: 'text', postgres: 'text collate "C"' },
  /** A primary key whose values the database counts up and never uses twice. */
  countedKey: { sqlite: 'integer primary key autoincrement', postgres: 'bigserial primary key' },
} as const satisfies Record<string, Record<Engine, string>>

type Word = keyof typeof words | 'text' | 'integer' | 'serial'

/** The SQL of a column behind its name, which begins with one of the words; of a constraint or index, from its bracket on. */
type Definition = Word | `${Word} ${string}`
type Constraint = `(${string}`

/** A definition with the type of the column's values. */
export interface Typed<Value> {
  readonly definition: Readonly<Record<Engine, string>>
  /** For the compiler only. */
  readonly values?: readonly Value[]
}

/** Columns, constraints and indexes by the words before their definitions, in the order of the table. */
type Elements = Readonly<Record<string, Definition | Constraint | Typed<unknown>>>

export interface Table<Of extends Elements> {
  readonly elements: Of
  /** What stands behind the elements, by engine. `undefined`: the engine does not have the table. */
  readonly options: Readonly<Record<Engine, string | undefined>>
}

const tableWith =
  (options: Readonly<Record<Engine, string | undefined>>) =>
  <const Of extends Elements>(elements: Of): Table<Of> => ({ elements, options })

/** A table of which SQLite checks the types of the values. */
export const table = tableWith({ sqlite: 'strict', postgres: '' })

/** As `table`, and SQLite stores the rows in their primary key's index. For small rows that are found by that key. */
export const tableByKey = tableWith({ sqlite: 'strict, without rowid', postgres: '' })

/** A table that only PostgreSQL has, where several processes share a database. */
export const postgresTable = tableWith({ sqlite: undefined, postgres: '' })

/** A definition whose column has values of a narrower type than its first word says, or another definition on each engine. */
export function typed<Value>(definition: Definition | Readonly<Record<Engine, string>>): Typed<Value> {
  return {
    definition: typeof definition === 'string' ? { sqlite: definition, postgres: definition } : definition,
  }
}

/** SQL of one engine that follows all tables: functions, triggers, first rows, and indexes that only this engine needs. */
export type EngineSql = Partial<Record<Engine, string>>

/** The statements that create tables and their indexes, in their order. */
export function createTables(tables: Readonly<Record<string, Table<Elements>>>, engine: Engine): string[] {
  return Object.entries(tables).map(([name, { elements, options }]) => {
    if (options[engine] === undefined) return ''
    const list: string[] = []
    let indexes = ''
    for (const [element, definition] of Object.entries(elements)) {
      const text = typeof definition === 'string' ? definition : definition.definition[engine]
      const inWords = text.replace(/^\w+/, (word) => words[word as keyof typeof words]?.[engine] ?? word)
      if (/^(?:unique )?index /.test(element)) indexes += `create ${element} on ${name} ${text};\n`
      else list.push(`${element} ${inWords}`)
    }
    return `create table ${name} (\n${list.join(',\n')}\n) ${options[engine]};\n${indexes}`
  })
}

/** The rows of tables, as queries know them: see `Tables` in storage/tables.ts. */
export type RowsOf<Tables> = {
  [Name in keyof Tables]: Tables[Name] extends Table<infer Of> ? RowOf<Of> : never
}

type RowOf<Of> = {
  -readonly [Name in keyof Of as Of[Name] extends Constraint ? never : Name]: ValueOf<Of[Name]>
}

type ValueOf<Of> =
  Of extends Typed<infer Value>
    ? Value
    : Of extends 'countedKey' | `serial ${string}` | `${string} default ${string}`
      ? Generated<BaseOf<Of>>
      : Of extends `${string} ${'not null' | 'primary key'}${string}`
        ? BaseOf<Of>
        : BaseOf<Of> | null

type BaseOf<Of> = Of extends `${'text' | 'sortedText'}${string}`
  ? string
  : Of extends `bytes${string}`
    ? Uint8Array
    : number
