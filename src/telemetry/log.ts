import pino, { type Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { endStackAtHandler } from './handler-stack.ts'
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
 * attach requests and responses to errors, and these contain tokens and secrets. An unavailable database has no stack: each
 * worker logs it at each of its attempts, and the place in the code says nothing about the cause. The stack of a handler's error
 * ends at the handler.
 */
function serializeError(error: unknown, depth = 0, withStack = true): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { code } = error as { code?: unknown }
  const hasStack = withStack && !(error instanceof StorageUnavailable)
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    ...(hasStack && { stack: error.stack && endStackAtHandler(error.stack) }),
    ...(error.cause !== undefined &&
      depth < 5 && { cause: serializeError(error.cause, depth + 1, hasStack) }),
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
      serializers: { err: serializeError },
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
    },
    destination ?? standardOutput(),
  )
}
