import { printable } from '../telemetry/printable.ts'
import { print } from './output.ts'

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
