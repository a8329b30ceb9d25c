import {
  DefaultQueryExecutor,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from 'kysely'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'
export type RunQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>

const dialects: Record<Engine, Dialect> = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
}

function propsFor(engine: Engine, run: RunQuery) {
  const dialect = dialects[engine]
  const connection: DatabaseConnection = {
    executeQuery: run as DatabaseConnection['executeQuery'],
    streamQuery() {
      throw new Error('streaming is not supported here: read page by page')
    },
  }
  const executor = new DefaultQueryExecutor(dialect.createQueryCompiler(), dialect.createAdapter(), {
    provideConnection: (consumer) => consumer(connection),
  })
  return { config: { dialect }, dialect, driver: dialect.createDriver(), executor }
}

/** A Kysely whose every query goes to `run`. It has no transactions of its own: ask the Database for one. */
export function kyselyOver(engine: Engine, run: RunQuery): Kysely<Tables> {
  return new Kysely<Tables>(propsFor(engine, run))
}

/** The same, typed and behaving as a transaction: it cannot be begun a second time. */
export function transactionOver(engine: Engine, run: RunQuery): Transaction<Tables> {
  return new Transaction<Tables>(propsFor(engine, run))
}
