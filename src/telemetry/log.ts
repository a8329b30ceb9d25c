import pino, { type Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { printableJson } from './printable.ts'

export type Log = Logger

interface LoggedError {
  type: string
  message: string
  code?: unknown
  stack?: string | undefined
  cause?: LoggedError
}

/**
 * The logged properties of an error: name, message, code, stack and causes. Other properties are left out, because libraries
 * attach requests and responses to errors, and these contain tokens and secrets.
 */
export function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    stack: error.stack,
    ...(error.cause !== undefined && depth < 5 && { cause: describeError(error.cause, depth + 1) }),
  }
}

/** Bytes of lines that one write gathers, and milliseconds until fewer are written: a write costs more than many lines. */
const gathered = 8_192
const longestWait = 20

/**
 * Standard output, in the order of the calls. It writes asynchronously, so a slow reader does not block the process. A killed
 * process loses its last lines; one that exits by itself or by an error does not. Lines that somebody reads at a terminal cannot control it.
 */
export function standardOutput(): pino.DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, minLength: gathered })
  let waiting = false
  const flush = (): void => {
    waiting = false
    output.flush()
  }
  return {
    write(lines) {
      output.write(printableJson(lines))
      if (waiting) return
      waiting = true
      setTimeout(flush, longestWait)
    },
  }
}

/**
 * Creates a log of structured lines (NDJSON) on standard output or `destination`. It redacts nothing: each call chooses the
 * fields to log. Redaction by name would cost time on each line and miss the names that it does not list.
 */
export function createLog(level: string, destination?: pino.DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      serializers: { err: describeError },
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
    },
    destination ?? standardOutput(),
  )
}
