import { parse, type CsvError, type Info } from 'csv-parse'
import { Readable } from 'node:stream'
import { decodeUtf8, maxRecordLength, type FileRecord } from './records.ts'

/**
 * Reads CSV (RFC 4180) whose first record names the columns. The parser gets the bytes as Latin-1, one character for each byte, and
 * each field is then decoded as UTF-8, so that invalid UTF-8 is a fault of its line only.
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  const skipped: CsvError[] = []
  const parser = parse({
    encoding: 'latin1',
    info: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: maxRecordLength,
    on_skip: (error) => {
      if (error) skipped.push(error)
      return undefined
    },
  })
  const source = Readable.from(chunks)
  source.on('error', (error) => parser.destroy(error))
  let columns: string[] | undefined
  let counted = 0
  let line = 1
  // The parser counts a quoted CRLF as two lines.
  let overcounted = 0
  for await (const { record, info } of source.pipe(parser) as AsyncIterable<{
    record: string[]
    info: Info
  }>) {
    const ends = record.join('').match(/\r?\n/g) ?? []
    overcounted += ends.filter((end) => end.length === 2).length
    counted = info.lines - overcounted
    line = counted - ends.length
    if (columns) yield readRecord(line, columns, record)
    else columns = readColumns(record)
  }
  // The parser stops at an unclosed quote or at a record that is too long.
  if (skipped[0]) {
    const why =
      skipped[0].code === 'CSV_QUOTE_NOT_CLOSED'
        ? 'has a quote that is not closed'
        : 'has a record that is too long'
    yield { line: counted + 1, fault: `${why}; the rest of the file was not read` }
  }
}

function readColumns(record: readonly string[]): string[] {
  return record.map((field, index) => {
    const name = decodeField(field)
    return (index === 0 ? name.replace(/^\ufeff/, '') : name).trim()
  })
}

function readRecord(line: number, columns: readonly string[], record: readonly string[]): FileRecord {
  if (record.length !== columns.length)
    return { line, fault: `has ${record.length} fields instead of ${columns.length}` }
  try {
    return {
      line,
      fields: Object.fromEntries(columns.map((name, index) => [name, decodeField(record[index]!)])),
    }
  } catch {
    return { line, fault: 'is not UTF-8' }
  }
}

function decodeField(latin1: string): string {
  return /[\u0080-\u00ff]/.test(latin1) ? decodeUtf8(Buffer.from(latin1, 'latin1')) : latin1
}
