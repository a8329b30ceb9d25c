import type { Engine } from '../../query-runner.ts'

/** The SQL words in which the two engines differ, so that each table is written once. */
interface Dialect {
  engine: Engine
  /** Milliseconds since 1970. */
  time: string
  bigint: string
  double: string
  bytes: string
  /**
   * Text whose order matters: PostgreSQL compares it by its bytes, as SQLite compares all text. Plain `text` is only
   * compared for equality.
   */
  sortedText: string
  /** A primary key whose values the database counts up and never uses twice. */
  countedKey: string
  /** Stands after the columns of a table: SQLite checks the types of their values. */
  strict: string
  /** As `strict`, and SQLite stores the rows in their primary key's index. For small rows that are found by that key. */
  strictByKey: string
}

/** The tables of one module, in the order in which they are created. */
export interface SchemaPart {
  tables: (dialect: Dialect) => string
  /** What only SQLite has. Comes after `tables`. */
  sqlite?: string
  /** What only PostgreSQL has: the tables of several processes, functions and triggers. Comes after `tables`. */
  postgres?: string
}

export const sqlite: Dialect = {
  engine: 'sqlite',
  time: 'integer',
  bigint: 'integer',
  double: 'real',
  bytes: 'blob',
  sortedText: 'text',
  countedKey: 'integer primary key autoincrement',
  strict: 'strict',
  strictByKey: 'strict, without rowid',
}

export const postgres: Dialect = {
  engine: 'postgres',
  time: 'bigint',
  bigint: 'bigint',
  double: 'double precision',
  bytes: 'bytea',
  sortedText: 'text collate "C"',
  countedKey: 'bigserial primary key',
  strict: '',
  strictByKey: '',
}
