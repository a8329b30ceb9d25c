import type { PostgresDatabase } from '../storage/database.ts'
import type { KeyValue } from '../paging/cursor.ts'
import { translateError } from '../storage/unavailable.ts'
import type { Plan } from './plan.ts'
import type { ListReader } from './store.ts'

/** Uses after which a statement is kept prepared on each connection, and how many are kept: they hold the server's memory. */
const worthKeeping = 5
const mostKept = 200

export function postgresReader({ pool }: PostgresDatabase): ListReader {
  const uses = new WeakMap<Plan, number>()
  const kept = new Set<string>()

  function keeps(plan: Plan): boolean {
    if (kept.has(plan.name)) return true
    const count = (uses.get(plan) ?? 0) + 1
    uses.set(plan, count)
    if (count < worthKeeping || kept.size >= mostKept) return false
    kept.add(plan.name)
    return true
  }

  return {
    async read(plan, values) {
      const query = {
        rowMode: 'array' as const,
        text: plan.sql,
        values: plan.slots.map((slot) => values[slot]!),
      }
      try {
        const { rows } = await pool.query<KeyValue[]>(keeps(plan) ? { ...query, name: plan.name } : query)
        return rows
      } catch (error) {
        throw translateError(error)
      }
    },
  }
}
