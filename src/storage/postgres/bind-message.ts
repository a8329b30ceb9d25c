/** As pg_type numbers them. */
const oids = { text: 25, integer: 23, bigint: 20, bytea: 17 } as const

/** Bytes that a message begins with. */
const leastBuffer = 16 * 1024

/** A column of a batch, and what of a row stands in it. Integers have 32 bits; bigints are integers that a double holds exactly. */
export type Column<Row> =
  | { kind: 'texts'; read: (row: Row) => string | null }
  | { kind: 'integers'; read: (row: Row) => number | null }
  | { kind: 'bigints'; read: (row: Row) => number | null }
  | { kind: 'bytes'; read: (row: Row) => Uint8Array | null }

/**
 * The message that gives a prepared statement its values, for statements that take a batch as one array for each column.
 * The arrays are binary, which neither side has to escape or to parse, and the buffer is used again for the next
 * message: as a literal and by pg's own writer each batch was four buffers of its size, which the collector had to find.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND; what an array looks
 * like is told by array_recv in src/backend/utils/adt/arrayfuncs.c.
 */
export class BindMessage {
  #buffer = Buffer.allocUnsafeSlow(leastBuffer)
  #end = 0

  /** Writes it anew: one array for each column. The bytes are its own until the next one is written. */
  write<Row>(statement: string, rows: readonly Row[], columns: readonly Column<Row>[]): Uint8Array {
    this.#begin(statement, columns.length)
    for (const column of columns) {
      if (column.kind === 'texts') this.#texts(rows, column.read)
      else if (column.kind === 'integers') this.#integers(rows, column.read)
      else if (column.kind === 'bigints') this.#bigints(rows, column.read)
      else this.#bytes(rows, column.read)
    }
    return this.#finish()
  }

  /** Bytes that it keeps for the next one. */
  get capacity(): number {
    return this.#buffer.length
  }

  #begin(statement: string, parameters: number): void {
    this.#end = 0
    this.#ensure(64 + 3 * statement.length)
    this.#buffer[0] = 0x42 // 'B'; the length is written at the end.
    this.#buffer[5] = 0 // The portal without a name.
    this.#end = 6 + this.#buffer.write(statement, 6)
    this.#buffer[this.#end] = 0
    this.#end += 1
    // One format, binary, for all parameters.
    this.#int16(1)
    this.#int16(1)
    this.#int16(parameters)
  }

  #texts<Row>(rows: readonly Row[], read: (row: Row) => string | null): void {
    const start = this.#beginArray(rows.length, oids.text)
    let last: string | null = null
    let [from, to] = [0, 0]
    for (const row of rows) {
      const text = read(row)
      if (text !== null && text === last) {
        // Most of a batch's neighbours are equal.
        this.#ensure(to - from)
        this.#buffer.copyWithin(this.#end, from, to)
        this.#end += to - from
        continue
      }
      from = this.#end
      if (text === null) this.#ensure(4).#int32(-1)
      else {
        this.#ensure(4 + 3 * text.length)
        const length = this.#buffer.write(text, from + 4)
        this.#int32(length)
        this.#end += length
      }
      to = this.#end
      last = text
    }
    this.#endArray(start)
  }

  #integers<Row>(rows: readonly Row[], read: (row: Row) => number | null): void {
    const start = this.#beginArray(rows.length, oids.integer)
    this.#ensure(8 * rows.length)
    for (const row of rows) {
      const value = read(row)
      this.#int32(value === null ? -1 : 4)
      if (value !== null) this.#int32(value)
    }
    this.#endArray(start)
  }

  #bigints<Row>(rows: readonly Row[], read: (row: Row) => number | null): void {
    const start = this.#beginArray(rows.length, oids.bigint)
    this.#ensure(12 * rows.length)
    for (const row of rows) {
      const value = read(row)
      this.#int32(value === null ? -1 : 8)
      if (value === null) continue
      const high = Math.floor(value / 2 ** 32)
      this.#int32(high)
      this.#int32(value - high * 2 ** 32)
    }
    this.#endArray(start)
  }

  #bytes<Row>(rows: readonly Row[], read: (row: Row) => Uint8Array | null): void {
    const start = this.#beginArray(rows.length, oids.bytea)
    for (const row of rows) {
      const bytes = read(row)
      const length = bytes?.length ?? -1
      this.#ensure(4 + Math.max(0, length)).#int32(length)
      if (bytes === null) continue
      this.#buffer.set(bytes, this.#end)
      this.#end += length
    }
    this.#endArray(start)
  }

  #finish(): Uint8Array {
    this.#ensure(2).#int16(0) // What it answers comes as text.
    this.#buffer.writeInt32BE(this.#end - 1, 1)
    return this.#buffer.subarray(0, this.#end)
  }

  #beginArray(length: number, oid: number): number {
    this.#ensure(4 + 20)
    const start = this.#end
    this.#end += 4
    // Dimensions, whether there may be nulls, the type; of the dimension its length and the number of its first element.
    this.#int32(length === 0 ? 0 : 1)
    this.#int32(1)
    this.#int32(oid)
    if (length > 0) {
      this.#int32(length)
      this.#int32(1)
    }
    return start
  }

  #endArray(start: number): void {
    this.#buffer.writeInt32BE(this.#end - start - 4, start)
  }

  #ensure(bytes: number): this {
    const needed = this.#end + bytes
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length))
      larger.set(this.#buffer.subarray(0, this.#end))
      this.#buffer = larger
    }
    return this
  }

  #int16(value: number): void {
    this.#buffer[this.#end] = value >>> 8
    this.#buffer[this.#end + 1] = value
    this.#end += 2
  }

  #int32(value: number): void {
    const buffer = this.#buffer
    const end = this.#end
    buffer[end] = value >>> 24
    buffer[end + 1] = value >>> 16
    buffer[end + 2] = value >>> 8
    buffer[end + 3] = value
    this.#end = end + 4
  }
}
