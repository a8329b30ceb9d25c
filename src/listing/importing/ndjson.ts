import { decodeUtf8, longestRecord, type FileRecord } from './records.ts'

/** Reads newline-delimited JSON: an object per line; empty lines count, and are passed over. */
export async function* readNdjson(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const bytes of splitLines(chunks)) {
    line += 1
    if (bytes === 'too long') yield { line, fault: `is longer than ${longestRecord} bytes` }
    else if (bytes.some((byte) => byte > 0x20)) yield readLine(line, bytes)
  }
}

function readLine(line: number, bytes: Buffer): FileRecord {
  let value: unknown
  try {
    value = parse(decodeUtf8(bytes))
  } catch (error) {
    return { line, fault: error instanceof SyntaxError ? 'is no JSON' : 'is no UTF-8' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, fault: 'is no JSON object' }
  return { line, fields: value as Record<string, unknown> }
}

const longNumber = /\d{16}/

/** Providers' ids may be numbers beyond 2^53: their digits are kept as a text, so that no two ids become one. */
function parse(json: string): unknown {
  if (!longNumber.test(json)) return JSON.parse(json)
  return JSON.parse(json, (key, value: unknown, context?: { source?: string }) =>
    key === 'providerId' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? context?.source
      : value,
  )
}

/** The lines of a file without their ends. One that is too long is not kept in memory. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | 'too long'> {
  let parts: Buffer[] = []
  let length = 0
  const take = (part: Buffer): void => {
    length += part.length
    if (length > longestRecord) parts = []
    else parts.push(part)
  }
  const finish = (): Buffer | 'too long' => {
    const line = length > longestRecord ? 'too long' : parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    parts = []
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      take(chunk.subarray(start, end))
      start = end + 1
      yield finish()
    }
    take(chunk.subarray(start))
  }
  if (length > 0) yield finish()
}
