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
