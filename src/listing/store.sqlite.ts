import type { SqliteDatabase } from '../storage/database.ts'
import type { ListReader, Row } from './store.ts'

export function sqliteReader({ readConnection }: SqliteDatabase): ListReader {
  return {
    read: async ({ sql, slots }, values) =>
      readConnection.all<Row>(
        sql,
        slots.map((slot) => values[slot]!),
      ),
  }
}
