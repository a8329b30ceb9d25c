import type { HandlerCall } from '../../runtime/call-context.ts'
import type { Scheduler } from '../../runtime/clock.ts'
import type { Log } from '../../telemetry/log.ts'

/** Milliseconds without a turn of the event loop that are logged: meanwhile the process answers no request. */
const longestBlock = 1_000
/** Milliseconds between two beats. */
const beatEvery = 500
/** Calls that one line names. */
const mostNamed = 10

export interface BlockedLoopParts {
  clock: Pick<Scheduler, 'after' | 'elapsed'>
  log: Pick<Log, 'warn'>
}

/**
 * Logs which handlers block the event loop. It measures the synchronous part of each call. A timer that comes late shows what blocks
 * afterwards, behind an `await`; then any of the handlers that were running may be the cause.
 */
export class BlockedLoop {
  readonly #parts: BlockedLoopParts
  readonly #running = new Set<HandlerCall>()
  /** Calls that ended after a beat was late. */
  readonly #ended = new Set<HandlerCall>()
  #lastBeat = 0
  #isBeating = false

  constructor(parts: BlockedLoopParts) {
    this.#parts = parts
  }

  /** Starts a call, whose promise `ended` follows. */
  begin<T>(call: HandlerCall, start: () => T): T {
    const { clock, log } = this.#parts
    const began = clock.elapsed()
    this.#running.add(call)
    if (!this.#isBeating) this.#arm(began)
    try {
      return start()
    } finally {
      const now = clock.elapsed()
      if (now - began > longestBlock) {
        log.warn({ ...named(call), ms: Math.round(now - began) }, 'a handler blocked the event loop')
        this.#lastBeat = now
      }
    }
  }

  ended(call: HandlerCall): void {
    if (!this.#running.delete(call)) return
    if (this.#parts.clock.elapsed() - this.#lastBeat > beatEvery + longestBlock) this.#ended.add(call)
  }

  /** It beats only while handlers run. */
  #arm(now: number): void {
    this.#lastBeat = now
    this.#isBeating = true
    this.#parts.clock.after(beatEvery, () => this.#beat())
  }

  #beat(): void {
    const { clock, log } = this.#parts
    const now = clock.elapsed()
    const ms = Math.round(now - this.#lastBeat - beatEvery)
    const calls = [...this.#ended, ...this.#running]
    this.#ended.clear()
    this.#isBeating = false
    if (this.#running.size > 0) this.#arm(now)
    if (ms <= longestBlock || calls.length === 0) return
    const handlers = calls.slice(0, mostNamed).map(named)
    log.warn(
      { handlers, running: calls.length, ms },
      'the event loop was blocked while handlers were running',
    )
  }
}

function named({ handler, source, event, type }: HandlerCall): object {
  return { handler, source, event, type }
}
