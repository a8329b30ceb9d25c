import type { CompiledQuery, QueryResult } from 'kysely'

/** A transaction's last statement, which waits for the commit. */
export class LastStatement {
  readonly query: CompiledQuery
  readonly #answering = Promise.withResolvers<QueryResult<unknown>>()

  constructor(query: CompiledQuery) {
    this.query = query
    // Whoever is told by the commit that it failed need not ask here as well.
    this.answered.catch(() => undefined)
  }

  get answered(): Promise<QueryResult<unknown>> {
    return this.#answering.promise
  }

  answer(result: QueryResult<unknown>): void {
    this.#answering.resolve(result)
  }

  /** Of several errors the first one counts. */
  fail(error: unknown): void {
    this.#answering.reject(error)
  }
}
