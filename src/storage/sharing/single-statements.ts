import type { CompiledQuery } from 'kysely'
import { returnsNoRows } from '../statement-kinds.ts'

/** After this many scopes in a row with a single statement, the next one is expected to be the same. */
const expectedFrom = 4
/** Bound of the map; a configuration has far fewer handlers. */
const mostGroups = 10_000

/** Records, for each group of scopes, whether its latest scopes consisted of a single statement. */
export class SingleStatements {
  readonly #inARow = new Map<string, number>()

  /**
   * Whether a scope that begins with this statement is likely to have no other. Only for statements that return no rows: a
   * statement that must run again is compared by its row count. Returned rows could differ unnoticed.
   */
  expected(group: string, { sql }: CompiledQuery): boolean {
    return (this.#inARow.get(group) ?? 0) >= expectedFrom && returnsNoRows(sql)
  }

  learn(group: string, single: boolean): void {
    if (this.#inARow.size >= mostGroups && !this.#inARow.has(group)) this.#inARow.clear()
    this.#inARow.set(group, single ? (this.#inARow.get(group) ?? 0) + 1 : 0)
  }
}
