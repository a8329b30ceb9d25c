/**
 * A text that a spreadsheet interprets as a formula (OWASP, CSV Injection). A spreadsheet with another separator than the comma also
 * starts a cell after a semicolon, a tab or a line break. There, a sign without a call or a reference to other programs is harmless and
 * is not escaped. If an apostrophe already precedes a formula, another one is added, so that an import can remove it.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/
const formulaWithin = /([;\t\r\n])(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const guardWithin = /([;\t\r\n])'(?=[ "']*(?:[=@＝＠]|[+\-＋－][^;\t\r\n]*[(|!]))/g
const number = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** One record of RFC 4180, with its line end. @param nulls the text of null; other cells with this text are quoted */
export function csvLine(values: readonly unknown[], nulls = ''): string {
  return `${values.map((value) => (value === null || value === undefined ? nulls : cell(value, nulls))).join(',')}\r\n`
}

function cell(value: unknown, nulls: string): string {
  const isPlain = typeof value === 'number' || typeof value === 'boolean'
  const text = typeof value === 'string' ? value : isPlain ? String(value) : JSON.stringify(value)
  const guarded = isPlain ? text : withGuard(text)
  // As in PostgreSQL's COPY, an empty cell is null.
  return text === '' || text === nulls || /[",;\t\r\n]/.test(guarded) || guarded !== guarded.trim()
    ? `"${guarded.replaceAll('"', '""')}"`
    : guarded
}

/** A text that a spreadsheet would run as a formula gets an apostrophe before the formula, unless it is a number. */
function withGuard(text: string): string {
  const guarded = text.replaceAll(formulaWithin, "$1'")
  return formula.test(text) && !number.test(text) ? `'${guarded}` : guarded
}

/** The text of a cell before `csvLine` added apostrophes. */
function withoutGuard(cell: string): string {
  const text = cell.replaceAll(guardWithin, '$1')
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}

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

/** Throws TypeError for bytes that are not UTF-8. */
export const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * A line, numbered from 1. Its text has one character for each byte (Latin-1), so that invalid UTF-8 is a fault of its line only;
 * it is `undefined` for a line that is too long.
 */
interface Line {
  number: number
  text: string | undefined
}

/** The fields of a record, in Latin-1, and its last line; or the fault of a line. */
type RawRecord =
  | { line: number; lastLine: number; fields: (string | null)[] }
  | { line: number; fault: string }

const byteOrderMark = '\u00ef\u00bb\u00bf'

export interface CsvOptions {
  /** Called with the column names; may throw. */
  checkHeader?: (names: readonly string[]) => void
  /** An unquoted cell with this text is null. Default: no cell is null. */
  nulls?: string
  /** Whether to remove the apostrophes that an export adds to formulas. */
  guarded?: boolean
}

/** Reads CSV (RFC 4180) whose first record names the columns. Empty lines are skipped, but numbered. */
export async function* readCsv(
  chunks: AsyncIterable<Buffer>,
  { checkHeader, nulls, guarded = false }: CsvOptions = {},
): AsyncGenerator<FileRecord> {
  const lines = new Lines(chunks)
  let columns: string[] | undefined
  for (let line = await lines.next(); line; line = await lines.next()) {
    if (line.text === '' || line.text === '\r') continue
    const record = await readRecord(line, lines, columns && nulls)
    if ('fault' in record) yield record
    else if (columns) yield nameFields(record, columns, guarded)
    else {
      columns = record.fields.map((field) => Buffer.from(field!, 'latin1').toString().trim())
      checkHeader?.(columns)
    }
  }
}

/**
 * Reads the record that begins with a line. If a quote in it is not closed, the line after the quote begins the next record: a quote
 * too many would otherwise make one text of the rest of the file.
 */
async function readRecord(first: Line, lines: Lines, nulls?: string): Promise<RawRecord> {
  const record = new CsvRecord(nulls)
  const read: Line[] = []
  let length = 0
  let state: ReturnType<CsvRecord['read']> = 'open'
  for (let line: Line | undefined = first; line && state === 'open';) {
    read.push(line)
    const { number, text } = line
    if (text === undefined || (length += text.length) > maxRecordLength) break
    state = record.read(text, number)
    if (state === 'open') line = await lines.next()
  }
  const lastLine = read.at(-1)!.number
  if (state === 'complete') return { line: first.number, lastLine, fields: record.fields }
  if (first.text === undefined)
    return { line: first.number, fault: `is longer than ${maxRecordLength} bytes` }
  const { quoteLine } = record
  lines.putBack(read.slice(quoteLine - first.number + 1))
  const isClosed = state === 'invalid' && quoteLine === lastLine
  const fault = isClosed ? 'has a text after a closing quote' : 'has a quote that is not closed'
  return { line: quoteLine, fault }
}

/** The lines of a file, which can be put back and read again. */
class Lines {
  readonly #source: AsyncIterator<Buffer | 'too long'>
  /** The next line is the last one. */
  readonly #again: Line[] = []
  #count = 0

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#source = splitLines(chunks)[Symbol.asyncIterator]()
  }

  async next(): Promise<Line | undefined> {
    const again = this.#again.pop()
    if (again) return again
    const { done, value } = await this.#source.next()
    if (done) return undefined
    this.#count += 1
    const text = value === 'too long' ? undefined : value.toString('latin1')
    const isMarked = this.#count === 1 && text?.startsWith(byteOrderMark)
    return { number: this.#count, text: isMarked ? text!.slice(byteOrderMark.length) : text }
  }

  putBack(lines: readonly Line[]): void {
    for (const line of lines.toReversed()) this.#again.push(line)
  }
}

function nameFields(
  { line, lastLine, fields }: Extract<RawRecord, { lastLine: number }>,
  columns: readonly string[],
  guarded: boolean,
): FileRecord {
  if (fields.length !== columns.length) {
    const end = lastLine > line ? `, up to line ${lastLine}` : ''
    return { line, fault: `has ${fields.length} fields instead of ${columns.length}${end}` }
  }
  try {
    const texts = fields.map((field) => field && decodeField(field))
    const entries = columns.map((name, index) => [
      name,
      guarded && texts[index] ? withoutGuard(texts[index]) : texts[index],
    ])
    return { line, fields: Object.fromEntries(entries) as Record<string, string | null> }
  } catch {
    return { line, fault: 'is not UTF-8' }
  }
}

function decodeField(latin1: string): string {
  return /[\u0080-\u00ff]/.test(latin1) ? utf8.decode(Buffer.from(latin1, 'latin1')) : latin1
}

/** A record of CSV (RFC 4180) that is read line by line: a field in quotes may hold line ends. */
class CsvRecord {
  readonly fields: (string | null)[] = []
  /** The number of the line on which the last field in quotes began. */
  quoteLine = 0
  /** The text so far of a field whose closing quote has not been read. */
  #open: string | undefined
  readonly #nulls: string | undefined

  /** @param nulls the text of null */
  constructor(nulls?: string) {
    this.#nulls = nulls === undefined ? undefined : Buffer.from(nulls).toString('latin1')
  }

  /**
   * Reads the next line, without its line feed.
   * @returns whether the record ends with it; `invalid` for a text between a closing quote and the next comma
   */
  read(line: string, number: number): 'complete' | 'open' | 'invalid' {
    let position = 0
    for (;;) {
      if (this.#open === undefined && line[position] === '"') {
        this.#open = ''
        this.quoteLine = number
        position += 1
      }
      if (this.#open === undefined) {
        const comma = line.indexOf(',', position)
        if (comma < 0) {
          this.#push(line.slice(position).replace(/\r$/, ''))
          return 'complete'
        }
        this.#push(line.slice(position, comma))
        position = comma + 1
        continue
      }
      const end = endOfQuoted(line, position)
      this.#open += line.slice(position, end).replaceAll('""', '"')
      if (end === line.length) {
        this.#open += '\n'
        return 'open'
      }
      this.fields.push(this.#open)
      this.#open = undefined
      position = end + 2
      if (line[end + 1] === ',') continue
      return /^\r?$/.test(line.slice(end + 1)) ? 'complete' : 'invalid'
    }
  }

  #push(bare: string): void {
    this.fields.push(bare === this.#nulls ? null : bare)
  }
}

/** The position of the closing quote; the length of the line if the quote is not closed. Two quotes stand for one in the text. */
function endOfQuoted(line: string, from: number): number {
  for (let end = line.indexOf('"', from); end >= 0; end = line.indexOf('"', end + 2))
    if (line[end + 1] !== '"') return end
  return line.length
}
