import type { SqliteDatabase } from '../storage/database.ts'
import type { KeyValue } from '../paging/cursor-values.ts'
import type { ListReader } from './reader.ts'

export function sqliteReader({ readConnection }: SqliteDatabase): ListReader {
  const read: ListReader['read'] = async ({ sql, slots }, values) =>
    readConnection.arrays<KeyValue[]>(
      sql,
      slots.map((slot) => values[slot]!),
    )
  return {
    read,
    async estimate(plan, values) {
      const [row] = await read(plan, values)
      return { total: Number(row![0]), estimated: false }
    },
  }
}
