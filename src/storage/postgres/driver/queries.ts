// Statements that pg's own query class makes slow: with one array for each column, with many lists of values, and with rows as
// arrays. The classes implement the methods that pg's client calls, and use fields of its connection that its types do not have.
import pg, { type Connection, type Pool, type PoolClient } from 'pg'

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

/** Numbers of the types in pg_type. */
const oids = { texts: 25, integers: 23, bigints: 20, bytes: 17 } as const

/** Initial size of a buffer, in bytes. */
const initialSize = 16 * 1024

/** A column of a batch: its type, and its value in a row. Integers have 32 bits; bigints are integers that a double holds exactly. */
export type Column<Row> =
  | { kind: 'texts'; read: (row: Row) => string | null }
  | { kind: 'integers'; read: (row: Row) => number | null }
  | { kind: 'bigints'; read: (row: Row) => number | null }
  | { kind: 'bytes'; read: (row: Row) => Uint8Array | null }

/**
 * Encodes one array for each column, in PostgreSQL's binary format, as parameters of a statement. Neither side has to escape or
 * parse them.
 */
export function encodeArrays<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Buffer[] {
  const encoder = new ArrayEncoder()
  const ends = columns.map((column) => encoder.array(rows, column).end)
  return ends.map((end, index) => encoder.bytes(index === 0 ? 0 : ends[index - 1]!, end).subarray(4))
}

/** Appends binary arrays to a buffer that grows. The format: array_recv in src/backend/utils/adt/arrayfuncs.c. */
class ArrayEncoder {
  #buffer = Buffer.allocUnsafeSlow(initialSize)
  end = 0

  /** The size of the buffer in bytes. */
  get capacity(): number {
    return this.#buffer.length
  }

  bytes(from: number, to: number): Buffer {
    return this.#buffer.subarray(from, to)
  }

  /** Appends the length of the array in bytes, and the array. */
  array<Row>(rows: readonly Row[], column: Column<Row>): this {
    const start = this.#beginArray(rows.length, oids[column.kind])
    if (column.kind === 'texts') this.#texts(rows, column.read)
    else if (column.kind === 'bytes') this.#bytes(rows, column.read)
    else this.#numbers(rows, column.read, column.kind === 'integers' ? 4 : 8)
    this.setInt32(start, this.end - start - 4)
    return this
  }

  #texts<Row>(rows: readonly Row[], read: (row: Row) => string | null): void {
    let last: string | null = null
    let [from, to] = [0, 0]
    for (const row of rows) {
      const text = read(row)
      if (text !== null && text === last) {
        // Most neighbours in a batch are equal.
        this.ensure(to - from)
        this.#buffer.copyWithin(this.end, from, to)
        this.end += to - from
        continue
      }
      from = this.end
      if (text === null) this.ensure(4).int32(-1)
      else {
        this.ensure(4 + 3 * text.length)
        const length = this.#buffer.write(text, from + 4)
        this.int32(length)
        this.end += length
      }
      to = this.end
      last = text
    }
  }

  #numbers<Row>(rows: readonly Row[], read: (row: Row) => number | null, size: 4 | 8): void {
    this.ensure((4 + size) * rows.length)
    for (const row of rows) {
      const value = read(row)
      this.int32(value === null ? -1 : size)
      if (value === null) continue
      const high = Math.floor(value / 2 ** 32)
      if (size === 8) this.int32(high)
      this.int32(size === 8 ? value - high * 2 ** 32 : value)
    }
  }

  #bytes<Row>(rows: readonly Row[], read: (row: Row) => Uint8Array | null): void {
    for (const row of rows) {
      const bytes = read(row)
      const length = bytes?.length ?? -1
      this.ensure(4 + Math.max(0, length)).int32(length)
      if (bytes === null) continue
      this.#buffer.set(bytes, this.end)
      this.end += length
    }
  }

  #beginArray(length: number, oid: number): number {
    this.ensure(4 + 20)
    const start = this.end
    this.end += 4
    // The number of dimensions, a flag for nulls, the type; then the dimension's length and its lower bound.
    this.int32(length === 0 ? 0 : 1)
      .int32(1)
      .int32(oid)
    if (length > 0) this.int32(length).int32(1)
    return start
  }

  ensure(bytes: number): this {
    const needed = this.end + bytes
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length))
      larger.set(this.#buffer.subarray(0, this.end))
      this.#buffer = larger
    }
    return this
  }

  byte(value: number): this {
    this.#buffer[this.end] = value
    this.end += 1
    return this
  }

  int16(value: number): this {
    return this.byte(value >>> 8).byte(value)
  }

  int32(value: number): this {
    this.setInt32(this.end, value)
    this.end += 4
    return this
  }

  setInt32(at: number, value: number): void {
    const buffer = this.#buffer
    buffer[at] = value >>> 24
    buffer[at + 1] = value >>> 16
    buffer[at + 2] = value >>> 8
    buffer[at + 3] = value
  }

  /** A text that ends with a zero byte. */
  cString(text: string): this {
    this.ensure(3 * text.length + 1)
    this.end += this.#buffer.write(text, this.end)
    return this.byte(0)
  }
}

/**
 * Encoders that are reused, because pg's own writer allocates several buffers of the size of the batch; and the largest buffer of such
 * an encoder, in bytes.
 */
const [mostSpare, largestSpare] = [8, 1024 * 1024]
const spare: ArrayEncoder[] = []

/**
 * Encodes the Bind message of a statement whose parameters are arrays. The result is valid until the encoder's next use.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
 */
function bindMessage<Row>(
  encoder: ArrayEncoder,
  statement: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Uint8Array {
  encoder.end = 0
  // 'B', and the length, which is set at the end; then the unnamed portal and the statement.
  encoder.byte(0x42).int32(0).byte(0).cString(statement)
  // One format for all parameters: binary.
  encoder.ensure(6).int16(1).int16(1).int16(columns.length)
  for (const column of columns) encoder.array(rows, column)
  // Results come as text.
  encoder.ensure(2).int16(0)
  encoder.setInt32(1, encoder.end - 1)
  return encoder.bytes(0, encoder.end)
}

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
  const encoder = spare.pop() ?? new ArrayEncoder()
  const write = (connection: Connection, name: string): void => {
    connection.stream.write(bindMessage(encoder, name, rows, columns))
    connection.execute({}, true)
  }
  const query = new CountsQuery(statement, timeout, write, onRow)
  const [count] = await run(on, query)
  // The server has read all of it. After an error it may still be on its way, so it is not reused.
  if (encoder.capacity <= largestSpare && spare.length < mostSpare) spare.push(encoder)
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
