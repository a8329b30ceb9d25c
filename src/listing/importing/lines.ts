/** The lines of a file without their line feeds. A line that is longer than a record may be is not held in memory. */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | 'too long'> {
  let parts: Buffer[] = []
  let length = 0
  const append = (part: Buffer): void => {
    length += part.length
    if (length > maxRecordLength) parts = []
    else parts.push(part)
  }
  const finish = (): Buffer | 'too long' => {
    const line = length > maxRecordLength ? 'too long' : parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    parts = []
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      append(chunk.subarray(start, end))
      start = end + 1
      yield finish()
    }
    append(chunk.subarray(start))
  }
  if (length > 0) yield finish()
}

/** One record of a file, or the fault of its line. Lines are numbered from 1. */
export type FileRecord = { line: number; fields: Record<string, unknown> } | { line: number; fault: string }

/** The longest accepted record, in bytes. */
export const maxRecordLength = 1024 * 1024

/** @throws TypeError for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

const decoder = new TextDecoder('utf-8', { fatal: true })
