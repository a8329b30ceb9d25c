import pino, { type Logger } from 'pino'

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

/** Standard output, in the order of the calls and without waiting for whoever reads it. */
export function standardOutput(): pino.DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: 0 })
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
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination ?? standardOutput(),
  )
}
