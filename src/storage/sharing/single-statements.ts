import type { CompiledQuery } from 'kysely'

/** So many in a row, and the next one is expected to be like them. */
const expectedFrom = 4
/** Who shares: far more than a configuration has handlers. */
const mostShares = 10_000

/**
 * Tells nothing but how many rows it changed: run again among others, it either tells the same or it is seen that it does
 * not. What returns rows may return other ones.
 */
const answersNothing = /^\s*(?:insert|update|delete)\b(?![^]*\breturning\b)/i

/** Remembers whose parts consist of a single statement, by whom they share for. */
export class SingleStatements {
  readonly #inARow = new Map<string | undefined, number>()

  /** Whether a part that begins with this statement is likely to end with it. */
  expected(share: string | undefined, { sql }: CompiledQuery): boolean {
    return (this.#inARow.get(share) ?? 0) >= expectedFrom && answersNothing.test(sql)
  }

  learn(share: string | undefined, single: boolean): void {
    if (!single && this.#inARow.size >= mostShares) this.#inARow.clear()
    this.#inARow.set(share, single ? (this.#inARow.get(share) ?? 0) + 1 : 0)
  }
}
