import pino, { type Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { endStackAtHandler } from './handler-stack.ts'
import { printableJson } from './printable.ts'

export type Log = Logger

/** Characters of a text that a line shows. A sender's data may be part of it, such as a payload in the message of an error. */
const longestText = 8_192
/** Characters of an error's message: its stack, which repeats the message, has room for the frames. */
const longestMessage = 4_096
/** Characters of a line. */
const longestLine = 256 * 1_024

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
  if (!(error instanceof Error)) return { type: typeof error, message: cut(textOf(error), longestMessage) }
  const { code, stack } = error as { code?: unknown; stack?: unknown }
  const hasStack = withStack && !(error instanceof StorageUnavailable)
  const whole = textOf(error.message)
  const message = cut(whole, longestMessage)
  return {
    type: cut(textOf(error.name), longestMessage),
    message,
    ...(code !== undefined && { code }),
    ...(hasStack &&
      typeof stack === 'string' && {
        // A function, because a message may have the patterns of a replacement.
        stack: cut(endStackAtHandler(message === whole ? stack : stack.replace(whole, () => message))),
      }),
    ...(error.cause !== undefined &&
      depth < 5 && { cause: serializeError(error.cause, depth + 1, hasStack) }),
  }
}

/** The text of a value that may have no conversion to one. */
function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

function cut(text: string, longest = longestText): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest).toWellFormed()}… (${text.length - longest} more characters)`
}

/** Cuts the long texts of a long line. A line with too many short ones keeps only what identifies it. */
function shortened(line: string): string {
  if (line.length <= longestLine) return line
  const shorter = JSON.stringify(
    JSON.parse(line, (_key, value: unknown) => (typeof value === 'string' ? cut(value) : value)),
  )
  if (shorter.length <= longestLine) return `${shorter}\n`
  const { level, time, reqId, event, msg } = JSON.parse(shorter) as Record<string, unknown>
  return `${JSON.stringify({ level, time, reqId, event, omitted: `${line.length} characters`, msg })}\n`
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
export function createLog(level: string, destination: pino.DestinationStream = standardOutput()): Log {
  return pino(
    {
      level,
      base: null,
      serializers: { err: serializeError },
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
    },
    { write: (line) => destination.write(shortened(line)) },
  )
}
