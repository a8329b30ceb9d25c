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
 * The Bind message of a statement whose parameters are arrays. Its buffer is reused, because pg's own writer allocates several
 * buffers of the size of the batch.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
 */
export class BindMessage {
  readonly #encoder = new ArrayEncoder()

  /** Encodes the message. The result is valid until the next call. */
  write<Row>(statement: string, rows: readonly Row[], columns: readonly Column<Row>[]): Uint8Array {
    const encoder = this.#encoder
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

  /** The size of the buffer in bytes. */
  get capacity(): number {
    return this.#encoder.capacity
  }
}
