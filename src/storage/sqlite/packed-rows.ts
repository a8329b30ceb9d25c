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

/** The format of `encodeRows`; another one gets another number. */
const format = 1
/** Bytes before the kinds: the format, the width, the number of values, and the bytes of the text. */
const headLength = 16

/** Rows as bytes, to be stored outside of this process. Their texts must be well-formed. */
export function encodeRows({ width, kinds: kindOf, numbers, text, bytes }: PackedRows): Uint8Array {
  const head = Buffer.alloc(headLength)
  const encodedText = Buffer.from(text)
  const encodedNumbers = Buffer.alloc(numbers.byteLength)
  for (const [index, value] of [format, width, numbers.length, encodedText.length].entries())
    head.writeUInt32LE(value, index * 4)
  for (const [index, number] of numbers.entries()) encodedNumbers.writeDoubleLE(number, index * 8)
  return Buffer.concat([head, kindOf, encodedNumbers, encodedText, bytes])
}

/** @throws Error if these are not the bytes of rows in the format that this version writes. */
export function decodeRows(encoded: Uint8Array): PackedRows {
  const all = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength)
  if (all.length < headLength || all.readUInt32LE(0) !== format)
    throw new Error('these are no rows in a format that this version knows')
  const [width, count, textLength] = [4, 8, 12].map((at) => all.readUInt32LE(at)) as [number, number, number]
  const numbersAt = headLength + count
  const textAt = numbersAt + count * 8
  const bytesAt = textAt + textLength
  const isWhole = width === 0 ? count === 0 : count % width === 0
  if (!isWhole || bytesAt > all.length) throw new Error('the rows are cut off')
  const numbers = new Float64Array(count)
  for (let index = 0; index < count; index += 1) numbers[index] = all.readDoubleLE(numbersAt + index * 8)
  const packed: PackedRows = {
    width,
    kinds: new Uint8Array(all.subarray(headLength, numbersAt)),
    numbers,
    text: all.toString('utf8', textAt, bytesAt),
    bytes: new Uint8Array(all.subarray(bytesAt)),
  }
  if (!isComplete(packed)) throw new Error('the rows are cut off')
  return packed
}

/** Whether the lengths of the values agree with the text and the bytes. */
function isComplete({ kinds: kindOf, numbers, text, bytes }: PackedRows): boolean {
  let [characters, size] = [0, 0]
  for (const [place, kind] of kindOf.entries()) {
    if (kind === kinds.text || kind === kinds.bigint) characters += numbers[place]!
    else if (kind === kinds.bytes) size += numbers[place]!
  }
  return characters === text.length && size === bytes.length
}
