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

/** Made once: a transaction is made for every event that is handled, and these hold nothing of it. */
const parts = {
  sqlite: partsOf(dialects.sqlite),
  postgres: partsOf(dialects.postgres),
}

function partsOf(dialect: Dialect) {
  return {
    dialect,
    config: { dialect },
    driver: dialect.createDriver(),
    compiler: dialect.createQueryCompiler(),
    adapter: dialect.createAdapter(),
  }
}

function streamQuery(): never {
  throw new Error('streaming is not supported here: read page by page')
}

function propsFor(engine: Engine, run: RunQuery) {
  const { config, dialect, driver, compiler, adapter } = parts[engine]
  const connection: DatabaseConnection = {
    executeQuery: run as DatabaseConnection['executeQuery'],
    streamQuery,
  }
  const executor = new DefaultQueryExecutor(compiler, adapter, {
    provideConnection: (consumer) => consumer(connection),
  })
  return { config, dialect, driver, executor }
}

/** A Kysely whose every query goes to `run`. It has no transactions of its own: ask the Database for one. */
export function kyselyOver(engine: Engine, run: RunQuery): Kysely<Tables> {
  return new Kysely<Tables>(propsFor(engine, run))
}

/** The same, typed and behaving as a transaction: it cannot be begun a second time. */
export function transactionOver(engine: Engine, run: RunQuery): Transaction<Tables> {
  return new Transaction<Tables>(propsFor(engine, run))
}
