import { inspect } from 'node:util'
import type { HandlerLog } from '../config.ts'
import type { LogOfHandlers } from '../worker/attempt.ts'

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  /** The fields of the line as text, if it has any. */
  readonly fields: string | null
}

/** Lines that are recorded, and characters of a message and of the fields. */
const mostLines = 200
const longest = 2_000

const levels = ['debug', 'info', 'warn', 'error'] as const

/** Records the log lines of a run, of all levels, and passes them on to the log. */
export function recordLines(log: LogOfHandlers): { log: LogOfHandlers; lines: LogLine[] } {
  const lines: LogLine[] = []
  const child = (bindings: object): HandlerLog => {
    const real = log.child(bindings)
    const write = (level: LogLine['level']) => (first: object | string, message?: string) => {
      if (lines.length < mostLines) lines.push(lineOf(level, first, message))
      real[level](first, message)
    }
    return Object.fromEntries(levels.map((level) => [level, write(level)])) as HandlerLog
  }
  return { log: { child }, lines }
}

function lineOf(level: LogLine['level'], first: object | string, message: string | undefined): LogLine {
  if (typeof first === 'string') return { level, message: cut(first), fields: null }
  return {
    level,
    message: cut(message ?? ''),
    fields: cut(inspect(first, { depth: 3, breakLength: 100, maxStringLength: longest })),
  }
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`
}
