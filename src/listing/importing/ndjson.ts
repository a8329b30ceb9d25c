import { splitLines } from './lines.ts'
import { decodeUtf8, maxRecordLength, type FileRecord } from './records.ts'

/** Reads newline-delimited JSON, one object per line. Empty lines are skipped, but numbered. */
export async function* readNdjson(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const bytes of splitLines(chunks)) {
    line += 1
    if (bytes === 'too long') yield { line, fault: `is longer than ${maxRecordLength} bytes` }
    else if (bytes.some((byte) => byte > 0x20)) yield readLine(line, bytes)
  }
}

function readLine(line: number, bytes: Buffer): FileRecord {
  let value: unknown
  try {
    value = parse(decodeUtf8(bytes))
  } catch (error) {
    return { line, fault: error instanceof SyntaxError ? 'is not JSON' : 'is not UTF-8' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, fault: 'is not a JSON object' }
  return { line, fields: value as Record<string, unknown> }
}

const longNumber = /\d{16}/

/** A `providerId` may be a number beyond 2^53. It is read as a text, because rounding could make two ids equal. */
function parse(json: string): unknown {
  if (!longNumber.test(json)) return JSON.parse(json)
  return JSON.parse(json, (key, value: unknown, context?: { source?: string }) =>
    key === 'providerId' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? context?.source
      : value,
  )
}
