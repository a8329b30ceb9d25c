import pg, { type Connection, type PoolClient } from 'pg'
import { parseOnce, runOwn, type Answer } from './own-query.ts'

/** A statement that answers no rows. */
export interface BatchStatement {
  text: string
  /** Under which it is kept prepared on each connection; without one it is prepared once for the batch. */
  name: string | undefined
  /** Milliseconds for all of it, in place of what holds for its pool. */
  answerWithin?: number
}

const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } }).utils

/**
 * One statement, run once for each of several lists of values: Bind and Execute for each, one Sync behind all, so that the server
 * answers all with one write. pg's own query asks what each answers, and has each answered at once, which costs both
 * sides more than a short statement does.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
class BatchQuery extends pg.Query {
  /** Set by the client that runs it. */
  declare callback: Answer<number[]>
  declare name: string | undefined
  declare text: string
  /** Milliseconds; pg reads it. */
  readonly query_timeout: number | undefined
  readonly #all: readonly (readonly unknown[])[]
  readonly #counts: number[] = []
  #failure: Error | undefined

  constructor({ text, name, answerWithin }: BatchStatement, all: readonly (readonly unknown[])[]) {
    super(text)
    this.name = name
    this.query_timeout = answerWithin
    this.#all = all
  }

  override submit = (connection: Connection): void => {
    const { name = '' } = this
    parseOnce(connection, this)
    try {
      for (const values of this.#all) {
        connection.bind({ statement: name, values: values.map(prepareValue) } as never, true)
        connection.execute({}, true)
      }
    } catch (error) {
      // A value that cannot be written. Those before it may run: who asked undoes them all.
      this.#failure = error as Error
    }
    connection.sync()
  }

  handleRowDescription(): void {
    // Nothing asked for it.
  }

  handleDataRow(): void {
    // A rule of the table answers rows: nobody asked for them.
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#counts.push(Number(text.slice(text.lastIndexOf(' ') + 1)))
  }

  handleError(error: Error): void {
    this.callback(this.#failure ?? error)
  }

  handleReadyForQuery(): void {
    if (this.#failure) this.callback(this.#failure)
    else this.callback(null, this.#counts)
  }
}

/**
 * Runs `insert`, `update` or `delete` once for each list of values, in their order, and resolves with the number of rows that
 * each changed. To be called within a transaction.
 * @throws what the first of them failed with; those behind it were not run, those before it were.
 */
export function queryBatch(
  client: PoolClient,
  statement: BatchStatement,
  all: readonly (readonly unknown[])[],
): Promise<number[]> {
  return runOwn(client, new BatchQuery(statement, all))
}
