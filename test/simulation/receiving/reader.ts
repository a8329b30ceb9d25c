import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { Database } from '../../../src/storage/database.ts'
import type { SqlValue } from '../../../src/storage/sqlite/connection.ts'
import type { Answer } from './storage.ts'

/** Reads outside of transactions, as `read` answers each statement. */
export function readerOver(
  read: (sql: string, parameters: readonly SqlValue[]) => Answer | Promise<Answer>,
): Database['reader'] {
  class Driver extends DummyDriver {
    override async acquireConnection() {
      return {
        executeQuery: async <R>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => ({
          rows: (await read(sql, parameters as readonly SqlValue[])).rows as R[],
        }),
        streamQuery: () => {
          throw new Error('nothing is streamed')
        },
      }
    }
  }
  return new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new Driver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}
