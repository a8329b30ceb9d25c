import { printable } from '../telemetry/printable.ts'

/** Columns of text, each as wide as its widest cell. Names come from elsewhere: what commands a terminal is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => cells.map(printable))
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
