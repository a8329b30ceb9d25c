import type { SqliteDatabase } from '../storage/database.ts'
import type { KeyValue } from '../paging/cursor.ts'
import type { ListReader } from './store.ts'

export function sqliteReader({ readConnection }: SqliteDatabase): ListReader {
  return {
    read: async ({ sql, slots }, values) =>
      readConnection.arrays<KeyValue[]>(
        sql,
        slots.map((slot) => values[slot]!),
      ),
  }
}
