import { write, writeSync } from 'node:fs'
import pino, { type Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
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
/** Milliseconds until a reader that is behind is tried again, and for which the exit of the process waits for it. */
const busyPause = 50
const longestExit = 1_000

/**
 * Standard output, in the order of the calls. It writes asynchronously, so a slow reader does not block the process. A killed
 * process loses its last lines; one that exits by itself or by an error does not. What nobody reads any more is dropped: pino's own
 * destination repeats its last write to a closed pipe without an end, and the process never exits.
 */
class StandardOutput implements pino.DestinationStream {
  #lines = ''
  /** What the current write has not written yet. */
  #bytes: Buffer = Buffer.alloc(0)
  #isWriting = false
  #isTimed = false

  constructor() {
    process.once('exit', () => this.#flushAtExit())
  }

  write(lines: string): void {
    // Lines that somebody reads at a terminal cannot control it.
    this.#lines += printableJson(lines)
    if (this.#lines.length >= gathered) this.#flush()
    else this.#flushIn(longestWait)
  }

  #flushIn(milliseconds: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    setTimeout(() => {
      this.#isTimed = false
      this.#flush()
    }, milliseconds)
  }

  #flush(): void {
    if (this.#isWriting || !this.#hasMore()) return
    this.#isWriting = true
    write(1, this.#bytes, (error, written) => {
      this.#isWriting = false
      if (error && isBusy(error)) return this.#flushIn(busyPause)
      this.#bytes = error ? this.#bytes.subarray(this.#bytes.length) : this.#bytes.subarray(written)
      // Lines that came meanwhile are gathered too. Otherwise a busy service would write almost each of them alone.
      if (this.#bytes.length > 0 || this.#lines.length >= gathered) this.#flush()
      else if (this.#lines !== '') this.#flushIn(longestWait)
    })
  }

  #hasMore(): boolean {
    if (this.#bytes.length === 0 && this.#lines !== '') {
      this.#bytes = Buffer.from(this.#lines)
      this.#lines = ''
    }
    return this.#bytes.length > 0
  }

  /** The event loop has ended. What is being written is left to the thread that writes it. */
  #flushAtExit(): void {
    if (this.#isWriting) this.#bytes = this.#bytes.subarray(this.#bytes.length)
    const until = performance.now() + longestExit
    while (this.#hasMore() && performance.now() < until)
      try {
        this.#bytes = this.#bytes.subarray(writeSync(1, this.#bytes))
      } catch (error) {
        if (!isBusy(error as NodeJS.ErrnoException)) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyPause)
      }
  }
}

function isBusy({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY'
}

let output: StandardOutput | undefined

/** All logs of a process share it, so that their lines keep their order. */
export function standardOutput(): pino.DestinationStream {
  return (output ??= new StandardOutput())
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

/**
 * The frames of the functions that call the handlers (receiving/worker/attempt.ts), and all frames below it. `inspect` leaves out
 * frames that the cause of the error has, too. A frame is indented by spaces: `\s` would also match line feeds, and take quadratic
 * time for a message with many empty lines.
 */
const below =
  /\n +(?:at (?:async )?(?:callHandler|runHandlers) \(|\.\.\. \d+ lines matching cause)(?:.*\n +at )*.*/g

/**
 * Removes the frames below a handler from the stack of its error: they are of this service, and the same for all handlers. The
 * frames of the handler, and of the libraries that it calls, stay.
 * @param text a stack, or the text of an error with the stacks of its causes, as `inspect` writes it
 */
export function endStackAtHandler(text: string): string {
  // `inspect` writes the properties of an error behind its last frame.
  return text.replace(below, (frames) => (frames.endsWith(' {') ? ' {' : ''))
}
