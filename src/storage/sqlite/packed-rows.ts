import type { SqlValue } from './connection.ts'

/** The type of a value; `numbers` holds the number, or the length of the text or bytes. */
const kinds = { null: 0, number: 1, bigint: 2, text: 3, bytes: 4 } as const

/** Rows as they go to another thread: a few large values instead of many small ones, because each value costs a copy. */
export interface PackedRows {
  /** Values of each row. */
  readonly width: number
  readonly kinds: Uint8Array<ArrayBuffer>
  readonly numbers: Float64Array<ArrayBuffer>
  /** All texts, one behind the other, and so are the bytes. */
  readonly text: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** @param rows of one length. */
export function packRows(rows: readonly (readonly SqlValue[])[]): PackedRows {
  const width = rows[0]?.length ?? 0
  const kindOf = new Uint8Array(rows.length * width)
  const numbers = new Float64Array(rows.length * width)
  const chunks: Uint8Array[] = []
  let text = ''
  let size = 0
  let place = 0
  for (const row of rows) {
    for (const value of row) {
      if (typeof value === 'string') {
        kindOf[place] = kinds.text
        numbers[place] = value.length
        text += value
      } else if (typeof value === 'number') {
        kindOf[place] = kinds.number
        numbers[place] = value
      } else if (typeof value === 'bigint') {
        const written = String(value)
        kindOf[place] = kinds.bigint
        numbers[place] = written.length
        text += written
      } else if (value !== null) {
        kindOf[place] = kinds.bytes
        numbers[place] = value.length
        chunks.push(value)
        size += value.length
      }
      place += 1
    }
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return { width, kinds: kindOf, numbers, text, bytes }
}

/** The buffers that move to the other thread instead of being copied. */
export function buffersOf({ kinds: kindOf, numbers, bytes }: PackedRows): ArrayBuffer[] {
  return [kindOf.buffer, numbers.buffer, bytes.buffer]
}

export function unpackRows({ width, kinds: kindOf, numbers, text, bytes }: PackedRows): SqlValue[][] {
  const rows: SqlValue[][] = []
  let at = 0
  let offset = 0
  for (let start = 0; start < kindOf.length; start += width) {
    const row: SqlValue[] = []
    for (let place = start; place < start + width; place += 1) {
      const kind = kindOf[place]
      const number = numbers[place]!
      if (kind === kinds.text) row.push(text.slice(at, (at += number)))
      else if (kind === kinds.number) row.push(number)
      else if (kind === kinds.null) row.push(null)
      else if (kind === kinds.bytes) row.push(bytes.subarray(offset, (offset += number)))
      else row.push(BigInt(text.slice(at, (at += number))))
    }
    rows.push(row)
  }
  return rows
}
