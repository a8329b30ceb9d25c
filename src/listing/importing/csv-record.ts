/** A record of CSV (RFC 4180) that is read line by line: a field in quotes may hold line ends. */
export class CsvRecord {
  readonly fields: string[] = []
  /** The number of the line on which the last field in quotes began. */
  quoteLine = 0
  /** The text so far of a field whose closing quote has not been read. */
  #open: string | undefined

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
          this.fields.push(line.slice(position).replace(/\r$/, ''))
          return 'complete'
        }
        this.fields.push(line.slice(position, comma))
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
}

/** The position of the closing quote; the length of the line if the quote is not closed. Two quotes stand for one in the text. */
function endOfQuoted(line: string, from: number): number {
  for (let end = line.indexOf('"', from); end >= 0; end = line.indexOf('"', end + 2))
    if (line[end + 1] !== '"') return end
  return line.length
}
