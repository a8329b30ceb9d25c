import type { KeyValue } from '../paging/cursor.ts'
import type { PostgresDatabase } from '../storage/database.ts'
import type { RowsStatement, RowValue } from '../storage/postgres/driver/queries.ts'
import { translated, translateError } from '../storage/unavailable.ts'
import type { Plan } from './plan.ts'
import type { ListReader } from './standby-reader.ts'

/** Milliseconds. The statements of a quick plan take less on average. Event-loop delays of a busy process count, too. */
const quick = 50
/** The weight of the newest statement in the average: one that takes seconds makes a plan slow at once. */
const weight = 1 / 8

/**
 * How long the statements of plans take, as a moving average. A plan is slow until it was measured, and for some twenty
 * statements after one that took seconds.
 */
export class PlanPaces {
  readonly #averages = new WeakMap<Plan, number>()

  /** Whether the plan's next statement is expected to take milliseconds. */
  isQuick(plan: Plan): boolean {
    return (this.#averages.get(plan) ?? Infinity) < quick
  }

  /** @param lasted milliseconds of one statement, without the wait for its turn */
  record(plan: Plan, lasted: number): void {
    const average = this.#averages.get(plan) ?? lasted
    this.#averages.set(plan, average + (lasted - average) * weight)
  }
}

/** A statement is prepared on each connection from this use on. */
const usesBeforePrepared = 5
/** Prepared statements at most: they use the server's memory on each connection. */
const maxPrepared = 200
/** SQLSTATE feature_not_supported: "cached plan must not change result type". */
const staleStatement = '0A000'

type ListConnections = Pick<PostgresDatabase, 'pool' | 'rows' | 'lists'>

/** @param elapsed milliseconds of a clock that is never set back */
export function postgresReader(
  database: ListConnections,
  elapsed = (): number => performance.now(),
): ListReader {
  const isPrepared = frequentPlans()
  const paces = new PlanPaces()
  return {
    read(plan, values, { settings, signal }) {
      const given = valuesFor(plan, values)
      if (signal)
        return database.lists(() =>
          queryUntilAborted(database, signal, { text: plan.sql, values: given, settings }),
        )
      const name = isPrepared(plan) ? plan.name : undefined
      return database.lists(async () => {
        const began = elapsed()
        try {
          return await query(database, { text: plan.sql, values: given, name, within: plan.within, settings })
        } finally {
          paces.record(plan, elapsed() - began)
        }
      }, paces.isQuick(plan))
    },
    async estimate(plan, values, { settings }) {
      const counted = plan.sql.replace('count(*) as total', '1')
      const explain = `explain (format json) ${counted}`
      const [row] = await database.lists(() =>
        query(database, { text: explain, values: valuesFor(plan, values), settings }),
      )
      const [explained] = JSON.parse(String(row![0])) as { Plan: { 'Plan Rows': number } }[]
      return { total: explained!.Plan['Plan Rows'], estimated: true }
    },
  }
}

/** The other values of KeyValue come from SQLite only. */
function valuesFor({ slots }: Plan, values: readonly KeyValue[]): RowValue[] {
  return slots.map((slot) => values[slot] as RowValue)
}

/** Returns the function that counts the uses of plans and decides which ones are prepared. */
function frequentPlans(): (plan: Plan) => boolean {
  const uses = new WeakMap<Plan, number>()
  const prepared = new Set<string>()
  return (plan) => {
    if (prepared.has(plan.name)) return true
    const count = (uses.get(plan) ?? 0) + 1
    uses.set(plan, count)
    if (count < usesBeforePrepared || prepared.size >= maxPrepared) return false
    prepared.add(plan.name)
    return true
  }
}

async function query(database: ListConnections, statement: RowsStatement): Promise<RowValue[][]> {
  try {
    return await database.rows(statement)
  } catch (error) {
    // The type of a column has changed since the statement was prepared. Without its name, it is planned again.
    if (statement.name !== undefined && (error as { code?: string }).code === staleStatement)
      return query(database, { ...statement, name: undefined })
    throw translateError(error)
  }
}

/**
 * Runs a statement on a connection of its own and cancels it when the signal is aborted. The server may get the cancel request
 * after the statement has ended, so the connection is closed then: the request must not hit another statement.
 */
async function queryUntilAborted(
  { pool, rows }: ListConnections,
  signal: AbortSignal,
  statement: RowsStatement,
): Promise<RowValue[][]> {
  const client = await translated(pool.connect())
  let cancelled: Promise<unknown> | undefined
  const cancel = (): void => {
    const { processID } = client as typeof client & { processID: number }
    cancelled = pool
      .query('select pg_cancel_backend($1)', [processID])
      .catch(() => 'the connection is closed below')
  }
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', cancel)
    return await rows(statement, client)
  } catch (error) {
    signal.throwIfAborted()
    throw translateError(error)
  } finally {
    signal.removeEventListener('abort', cancel)
    await cancelled
    client.release(cancelled !== undefined)
  }
}
