import pino, { type Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'

export type Log = Logger

interface LoggedError {
  type: string
  message: string
  code?: unknown
  stack?: string | undefined
  cause?: LoggedError
}

/**
 * What a log line tells of an error: name, message, code, stack and causes. The other properties stay out: libraries hang
 * requests and responses on their errors, and with them tokens and secrets.
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

/** Bytes of lines that are written at once, and milliseconds after which fewer are: each write costs more than many lines. */
const gathered = 8_192
const longestWait = 20

/**
 * Standard output, in the order of the calls and without waiting for whoever reads it. A process that is killed loses the
 * lines of its last moment; one that ends by itself, or by an error, does not.
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
      output.write(lines)
      if (waiting) return
      waiting = true
      setTimeout(flush, longestWait)
    },
  }
}

/**
 * Structured log lines (NDJSON) on standard output, or wherever `destination` leads. What is logged is chosen where it
 * is logged; there is no net of redacted names beneath, which would cost each line and catch only what it was told of.
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
