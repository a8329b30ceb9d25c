import { styleText } from 'node:util'
import { printable } from '../telemetry/printable.ts'

let asJson = false

/** From now on commands print JSON: what `--json` asks for. */
export function useJson(): void {
  asJson = true
}

export function isJson(): boolean {
  return asJson
}

/** Prints a result: the text, or with `--json` the value in one line. A command calls it once, one with a stream once for each entry. */
export function print(value: unknown, text: string): void {
  process.stdout.write(asJson ? `${printable(JSON.stringify(value))}\n` : text)
}

/** Colours a text for the terminal; a pipe, NO_COLOR and FORCE_COLOR are honoured. */
export function coloured(colour: 'red' | 'green' | 'yellow' | 'gray', text: string): string {
  return styleText(colour, text, { stream: process.stdout })
}
