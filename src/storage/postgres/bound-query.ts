import pg, { type Connection, type Pool, type PoolClient } from 'pg'
import { BindMessage, type Column } from './bind-message.ts'
import { parseOnce, runOwn, type Answer } from './own-query.ts'
import { keepsPrepared } from './keeps-prepared.ts'

/** A statement without rows that every connection keeps prepared. */
export interface PreparedStatement {
  name: string
  text: string
}

/** Messages whose buffers are used again, and bytes that each of them may keep. */
const [mostSpare, mostKept] = [8, 1024 * 1024]
const spare: BindMessage[] = []

/** A prepared statement whose values were written before. Nothing is asked about its rows, since it answers none. */
class BoundQuery extends pg.Query {
  /** Set by the client that runs it. */
  declare callback: Answer<number>
  declare name: string | undefined
  declare text: string
  /** Milliseconds; pg reads it. */
  readonly query_timeout: number
  readonly #message: Uint8Array
  #count = 0

  constructor(text: string, name: string, message: Uint8Array, timeout: number) {
    super(text)
    this.name = name || undefined
    this.query_timeout = timeout
    this.#message = message
  }

  override submit = (connection: Connection): void => {
    parseOnce(connection, this)
    connection.stream.write(this.#message)
    connection.execute({}, true)
    connection.sync()
  }

  handleRowDescription(): void {
    // Nothing asked for it.
  }

  handleDataRow(): void {
    // A rule of the table answers rows: nobody asked for them.
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#count = Number(text.slice(text.lastIndexOf(' ') + 1))
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#count)
  }
}

/**
 * Runs `insert`, `update` or `delete` with one array for each column of the rows, and resolves with the number of rows that it changed.
 * @param timeout milliseconds; beyond them the connection is given up.
 */
export async function queryBound<Row>(
  on: Pool | PoolClient,
  statement: PreparedStatement,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  timeout: number,
): Promise<number> {
  const message = spare.pop() ?? new BindMessage()
  const name = keepsPrepared(on) ? statement.name : ''
  const bytes = message.write(name, rows, columns)
  const count = await runOwn(on, new BoundQuery(statement.text, name, bytes, timeout))
  // It was read to its end. After an error it may still be on its way: then the collector has it.
  if (message.capacity <= mostKept && spare.length < mostSpare) spare.push(message)
  return count
}
