import type { CompiledQuery } from 'kysely'
import { returnsNoRows } from '../statement-kinds.ts'

/** After this many scopes in a row with a single statement, the next one is expected to be the same. */
const expectedFrom = 4
/** Bound of the map; a configuration has far fewer handlers. */
const mostShares = 10_000

/** Records, for each share, whether its latest scopes consisted of a single statement. */
export class SingleStatements {
  readonly #inARow = new Map<string | undefined, number>()

  /**
   * Whether a scope that begins with this statement is likely to have no other. Only for statements that return no rows: a
   * statement that must run again is compared by its row count. Returned rows could differ unnoticed.
   */
  expected(share: string | undefined, { sql }: CompiledQuery): boolean {
    return (this.#inARow.get(share) ?? 0) >= expectedFrom && returnsNoRows(sql)
  }

  learn(share: string | undefined, single: boolean): void {
    if (this.#inARow.size >= mostShares && !this.#inARow.has(share)) this.#inARow.clear()
    this.#inARow.set(share, single ? (this.#inARow.get(share) ?? 0) + 1 : 0)
  }
}
