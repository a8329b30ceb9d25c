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
type RunQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>

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

/** Created once, because every handled event creates a transaction, and these have no state. */
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
  throw new Error('streaming is not supported: read pages instead')
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

/** A Kysely that passes every query to `run`. For transactions, use the Database. */
export function kyselyOver(engine: Engine, run: RunQuery): Kysely<Tables> {
  return new Kysely<Tables>(propsFor(engine, run))
}

/** The same as a Kysely transaction, which cannot begin another one. */
export function transactionOver(engine: Engine, run: RunQuery): Transaction<Tables> {
  return new Transaction<Tables>(propsFor(engine, run))
}
