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
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type QueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'
type RunQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/** Created once, because every handled event creates a transaction, and these have no state. */
const parts = {
  sqlite: partsOf(SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler),
  postgres: partsOf(PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler),
}

function partsOf(
  Adapter: new () => DialectAdapter,
  Introspector: new (db: Kysely<unknown>) => DatabaseIntrospector,
  Compiler: new () => QueryCompiler,
) {
  const [adapter, driver, compiler] = [new Adapter(), new DummyDriver(), new Compiler()]
  const dialect: Dialect = {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: (db) => new Introspector(db),
    createQueryCompiler: () => compiler,
  }
  return { dialect, config: { dialect }, driver, compiler, adapter }
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
