import { styleText } from 'node:util'
import { printable, printableLines } from '../telemetry/printable.ts'

let asJson = false

/** From now on commands print JSON: what `--json` asks for. */
export function useJson(): void {
  asJson = true
}

export function isJson(): boolean {
  return asJson
}

/**
 * Prints a result: the text, or with `--json` the value in one line. A command calls it once, one with a stream once for each entry. What
 * controls a terminal is escaped, since texts come from the database or from a service.
 */
export function print(value: unknown, text: string): void {
  process.stdout.write(asJson ? `${printable(JSON.stringify(value))}\n` : escaped(text))
}

/** Tells what a command does meanwhile, in one line on standard error. */
export function tell(text: string): void {
  process.stderr.write(`${printable(text)}\n`)
}

/** The colours of `coloured` stay. */
function escaped(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const parts = text.split(/(\u001b\[(?:31|32|33|39|90)m)/)
  return parts.map((part, index) => (index % 2 === 1 ? part : printableLines(part))).join('')
}

/** Colours a text for the terminal; a pipe, NO_COLOR and FORCE_COLOR are honoured. */
export function coloured(colour: 'red' | 'green' | 'yellow' | 'gray', text: string): string {
  return styleText(colour, text, { stream: process.stdout })
}

/** A date is shown to the minute. */
type Cell = string | number | Date | null

/** Prints columns of text, each as wide as its widest cell; with `--json` an array of objects. What commands a terminal is escaped. */
export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const keys = head.map((title) => title.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase()))
  const objects = rows.map((cells) => Object.fromEntries(cells.map((cell, at) => [keys[at]!, cell])))
  print(objects, table(head, rows))
}

function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => printable(textOf(cell))))
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((cells) => cells[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return lines.map((cells) => `${line(cells)}\n`).join('')
}

function textOf(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString().slice(0, 16).replace('T', ' ')
  return cell === null ? '' : String(cell)
}
