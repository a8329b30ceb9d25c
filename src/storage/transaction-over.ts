import type { CompiledQuery, QueryResult } from 'kysely'

/** A query on a transaction that has ended, by its commit or rollback or at its time limit. */
export class TransactionOver extends Error {
  /** Whether it reached its time limit, so that another attempt may succeed. */
  readonly outOfTime: boolean

  constructor(how: string) {
    super(
      how === 'out of time'
        ? 'the transaction reached its time limit and was rolled back: do slow work before the first use of tx'
        : `the transaction was ${how} already: await every query before it ends`,
    )
    this.name = 'TransactionOver'
    this.outOfTime = how === 'out of time'
  }
}

/** A statement that is sent together with the commit, on PostgreSQL in one round trip. If it fails, so does the commit. */
export class ClosingStatement {
  readonly query: CompiledQuery
  readonly #explain: (error: unknown) => unknown
  readonly #answer = Promise.withResolvers<QueryResult<unknown>>()

  /** @param explain returns the error to report if the statement fails with `error` */
  constructor(query: CompiledQuery, explain: (error: unknown) => unknown = (error) => error) {
    this.query = query
    this.#explain = explain
    // The commit fails with the same error.
    this.answered.catch(() => undefined)
  }

  get answered(): Promise<QueryResult<unknown>> {
    return this.#answer.promise
  }

  succeed(result: QueryResult<unknown>): void {
    this.#answer.resolve(result)
  }

  /** Returns the error to report. Of several errors, `answered` has the first. */
  fail(error: unknown): unknown {
    const explained = this.#explain(error)
    this.#answer.reject(explained)
    return explained
  }
}
