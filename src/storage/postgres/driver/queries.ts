// Query classes for statements that pg's own class makes slow. They implement the methods that pg's client calls, and use
// fields of its connection that its types do not have.
import pg, { type Connection, type Pool, type PoolClient } from 'pg'
import { BindMessage, type Column } from './array-encoder.ts'

/** The client that runs a query sets its callback. */
type Callback<Result> = (error: Error | null, result?: Result) => void

interface OwnQuery<Result> extends pg.Query {
  callback: Callback<Result>
}

function run<Result>(on: Pool | PoolClient, own: OwnQuery<Result>): Promise<Result> {
  const { query } = on as {
    query: (own: OwnQuery<Result>, values: undefined, callback: Callback<Result>) => unknown
  }
  return new Promise((resolve, reject) => {
    query.call(on, own, undefined, (error, result) => {
      if (error) reject(error)
      else resolve(result!)
    })
  })
}

/** What pg's types lack of a connection. */
interface Internals extends Connection {
  /** Texts by name. */
  parsedStatements: Record<string, string | undefined>
  submittedNamedStatements: Record<string, string | undefined>
}

/** A statement of which the row count is wanted. */
export interface PreparedStatement {
  text: string
  /** Under which every connection keeps it prepared. Without a name, it is parsed each time. */
  name: string | undefined
}

/** Takes a row that the statement returns, as the server's texts. */
type OnRow = (fields: readonly (string | null)[]) => void

/** Writes Bind and Execute messages for a statement, which is prepared under this name. */
type WriteBinds = (connection: Connection, name: string) => void

/**
 * A statement for its row counts: Parse unless it is prepared, any number of Bind and Execute, and one Sync, so that the server
 * answers with one write. pg's own class also describes each portal and syncs after each.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
class CountsQuery extends pg.Query {
  declare callback: Callback<number[]>
  /** The client removes it if a pooler may change its session. */
  declare name: string | undefined
  declare text: string
  /** Milliseconds; pg reads it. */
  readonly query_timeout: number | undefined
  readonly #write: WriteBinds
  readonly #onRow: OnRow | undefined
  readonly #counts: number[] = []
  #failure: Error | undefined

  constructor(
    { text, name }: PreparedStatement,
    timeout: number | undefined,
    write: WriteBinds,
    onRow?: OnRow,
  ) {
    super(text)
    this.name = name
    this.query_timeout = timeout
    this.#write = write
    this.#onRow = onRow
  }

  override submit = (connection: Connection): void => {
    try {
      this.#parseOnce(connection as Internals)
      this.#write(connection, this.name ?? '')
    } catch (error) {
      // A value has no encoding. The executions that were written before it may succeed: the caller rolls back.
      this.#failure = error as Error
    }
    connection.sync()
  }

  #parseOnce(connection: Internals): void {
    const { name, text } = this
    if (name !== undefined) {
      if (connection.parsedStatements[name] || connection.submittedNamedStatements[name]) return
      connection.submittedNamedStatements[name] = text
    }
    connection.parse({ name: name ?? '', text, types: [] }, true)
  }

  handleRowDescription(): void {
    // Not requested.
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    this.#onRow?.(fields)
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

const { prepareValue } = (pg as unknown as { utils: { prepareValue: (value: unknown) => unknown } }).utils

/**
 * Runs `insert`, `update` or `delete` once for each list of values, in order, and resolves with the row counts. To be called
 * within a transaction.
 * @param timeout milliseconds for all of them, instead of the pool's limit
 * @throws the error of the first that fails. Those before it were run, those after it were not.
 */
export function queryBatch(
  client: PoolClient,
  statement: PreparedStatement,
  lists: readonly (readonly unknown[])[],
  timeout?: number,
): Promise<number[]> {
  const query = new CountsQuery(statement, timeout, (connection, name) => {
    for (const values of lists) {
      connection.bind({ statement: name, values: values.map(prepareValue) } as never, true)
      connection.execute({}, true)
    }
  })
  return run(client, query)
}

/** Messages whose buffers are reused, and the largest buffer that is reused, in bytes. */
const [mostSpare, largestSpare] = [8, 1024 * 1024]
const spare: BindMessage[] = []

/**
 * Runs `insert`, `update` or `delete` with one array for each column of the rows, and resolves with the row count.
 * @param timeout milliseconds; then the connection is closed
 * @param onRow called with each row of its `returning` clause
 */
export async function queryArrays<Row>(
  on: Pool | PoolClient,
  statement: PreparedStatement,
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column<Row>[] },
  timeout: number,
  onRow?: OnRow,
): Promise<number> {
  const message = spare.pop() ?? new BindMessage()
  const write = (connection: Connection, name: string): void => {
    connection.stream.write(message.write(name, rows, columns))
    connection.execute({}, true)
  }
  const query = new CountsQuery(statement, timeout, write, onRow)
  const [count] = await run(on, query)
  // The server has read all of it. After an error it may still be on its way, so it is not reused.
  if (message.capacity <= largestSpare && spare.length < mostSpare) spare.push(message)
  return count!
}

export type RowValue = string | number | null

export interface RowsStatement {
  text: string
  values: readonly RowValue[]
  /** Under which every connection keeps it prepared. */
  name?: string | undefined
  /** Milliseconds after which the server ends it with query_canceled, 57014. Default: that of the session. */
  within?: number | undefined
  /** Settings that policies read: names with their values. They end with the statement's transaction. */
  settings?: readonly (readonly [name: string, value: string])[] | undefined
}

/** int2, int4, float4, float8: their numbers in pg_type. */
const numbers = new Set([21, 23, 700, 701])

/**
 * A statement whose rows are arrays of the column values: numbers of up to eight bytes' precision as numbers, everything else as
 * the server's text. For lists: without pg's own work for each result and row, a page of a hundred rows costs a tenth less.
 */
class RowsQuery extends pg.Query {
  declare callback: Callback<RowValue[][]>
  declare name: string | undefined
  #rows: RowValue[][] = []
  /** Indexes of the columns that are numbers. */
  #numeric: number[] = []

  constructor({ text, values, name }: RowsStatement) {
    super(text, [...values])
    this.name = name
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    this.#numeric = fields.flatMap(({ dataTypeID }, index) => (numbers.has(dataTypeID) ? [index] : []))
  }

  handleDataRow({ fields }: { fields: RowValue[] }): void {
    for (const index of this.#numeric) {
      const value = fields[index]
      if (value !== null) fields[index] = Number(value)
    }
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {
    // It has the row count only.
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    const rows = this.#rows
    // The garbage collector keeps queries with a time limit longer than their rows are needed: a timer refers to them.
    this.#rows = []
    this.callback(null, rows)
  }
}

/** Whether a statement needs a transaction: for a time limit or settings of its own. */
export function needsTransaction({ within, settings }: RowsStatement): boolean {
  return within !== undefined || settings !== undefined
}

/** Begins the transaction of a statement. After a failure, the next statements of the transaction fail as well. */
export async function beginFor(client: PoolClient, { within, settings = [] }: RowsStatement): Promise<void> {
  const limit = within === undefined ? '' : `; set local statement_timeout = ${within}`
  const set = settings.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, true)`)
  await Promise.all([
    client.query(`begin read only${limit}`),
    set.length > 0 && client.query(`select ${set.join(', ')}`, settings.flat()),
  ])
}

async function rowsInTransaction(client: PoolClient, statement: RowsStatement): Promise<RowValue[][]> {
  const answers = [beginFor(client, statement), rowsOf(client, statement), client.query('commit')] as const
  // The transaction ends before anybody else gets the connection.
  await Promise.allSettled(answers)
  const [, rows] = await Promise.all(answers)
  return rows
}

/** Runs a statement for its rows, as `RowsQuery` returns them, in the transaction that the client is in. */
export function rowsOf(on: Pool | PoolClient, statement: RowsStatement): Promise<RowValue[][]> {
  return run(on, new RowsQuery(statement))
}

/** Runs a statement for its rows, in a transaction of its own if it needs one. */
export async function queryRows(on: Pool | PoolClient, statement: RowsStatement): Promise<RowValue[][]> {
  if (!needsTransaction(statement)) return rowsOf(on, statement)
  if (!('totalCount' in on)) return rowsInTransaction(on, statement)
  const client = await on.connect()
  let failed = true
  try {
    const rows = await rowsInTransaction(client, statement)
    failed = false
    return rows
  } finally {
    client.release(failed)
  }
}
