import type { PostgresDatabase } from '../storage/database.ts'
import type { KeyValue } from '../paging/cursor.ts'
import { translateError } from '../storage/unavailable.ts'
import type { Plan } from './plan.ts'
import type { ListReader } from './reader.ts'

/** Uses after which a statement is kept prepared on each connection, and how many are kept: they hold the server's memory. */
const worthKeeping = 5
const mostKept = 200
/** SQLSTATE feature_not_supported: "cached plan must not change result type". */
const staleStatement = '0A000'

export function postgresReader({
  pool,
  rows,
  lists,
}: Pick<PostgresDatabase, 'pool' | 'rows' | 'lists'>): ListReader {
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

  async function query(text: string, values: readonly KeyValue[], name?: string): Promise<KeyValue[][]> {
    try {
      return await rows({ text, values, name })
    } catch (error) {
      // A column's type was changed since the statement was prepared: it is planned anew when it is sent as a text.
      if (name !== undefined && (error as { code?: string }).code === staleStatement)
        return query(text, values)
      throw translateError(error)
    }
  }

  /**
   * The same on a connection of its own, whose statement is cancelled when `wanted` is aborted. The cancelling may reach the
   * server after the statement has ended: such a connection is closed, so that it never hits the next one's.
   */
  async function queryWhile(
    wanted: AbortSignal,
    text: string,
    values: readonly KeyValue[],
  ): Promise<KeyValue[][]> {
    const client = await pool.connect().catch((error: unknown) => {
      throw translateError(error)
    })
    let cancelled: Promise<unknown> | undefined
    const cancel = (): void => {
      const { processID } = client as typeof client & { processID: number }
      cancelled = pool
        .query('select pg_cancel_backend($1)', [processID])
        .catch(() => 'the connection is closed below')
    }
    try {
      wanted.throwIfAborted()
      wanted.addEventListener('abort', cancel)
      return await rows({ text, values }, client)
    } catch (error) {
      wanted.throwIfAborted()
      throw translateError(error)
    } finally {
      wanted.removeEventListener('abort', cancel)
      await cancelled
      client.release(cancelled !== undefined)
    }
  }

  const valuesFor = (plan: Plan, values: readonly KeyValue[]): KeyValue[] =>
    plan.slots.map((slot) => values[slot]!)

  return {
    read: (plan, values, wanted) =>
      wanted
        ? lists(() => queryWhile(wanted, plan.sql, valuesFor(plan, values)))
        : query(plan.sql, valuesFor(plan, values), keeps(plan) ? plan.name : undefined),
    async estimate(plan, values) {
      const counted = plan.sql.replace('count(*) as total', '1')
      const [row] = await query(`explain (format json) ${counted}`, valuesFor(plan, values))
      const [explained] = JSON.parse(String(row![0])) as { Plan: { 'Plan Rows': number } }[]
      return { total: explained!.Plan['Plan Rows'], estimated: true }
    },
  }
}
