import type { HandlerCall } from '../../runtime/call-context.ts'
import type { Scheduler } from '../../runtime/clock.ts'
import { SlotMap } from '../../runtime/abort-broadcast.ts'
import type { Log } from '../../telemetry/log.ts'

/** Milliseconds without a turn of the event loop that are logged: meanwhile the process answers no request. */
const longestBlock = 1_000
/** Milliseconds between two beats. */
const beatEvery = 500
/** Calls that one line names. */
const mostNamed = 10

interface BlockedLoopParts {
  clock: Pick<Scheduler, 'after' | 'elapsed'>
  log: Pick<Log, 'warn'>
}

/**
 * Logs which handlers block the event loop. It measures the synchronous part of each call. A timer that comes late shows what blocks
 * afterwards, behind an `await`; then any of the handlers that were running may be the cause.
 */
export class BlockedLoop {
  readonly #parts: BlockedLoopParts
  readonly #running = new SlotMap<HandlerCall>()
  /** Calls that ended after a beat was late. */
  readonly #ended: HandlerCall[] = []
  #lastBeat = 0
  #isBeating = false

  constructor(parts: BlockedLoopParts) {
    this.#parts = parts
  }

  /** Counts a call as running. Returns a function to call at its end; calling that again has no effect. */
  watch(call: HandlerCall): () => void {
    const { clock } = this.#parts
    const remove = this.#running.add(call)
    if (!this.#isBeating) this.#arm(clock.elapsed())
    return () => {
      if (remove() && clock.elapsed() - this.#lastBeat > beatEvery + longestBlock) this.#ended.push(call)
    }
  }

  /** Runs the synchronous part of a call, and logs it if it takes too long. */
  start<T>(call: HandlerCall, start: () => T): T {
    const { clock, log } = this.#parts
    const began = clock.elapsed()
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
    const running = this.#running.all()
    const calls = [...this.#ended.splice(0), ...running]
    this.#isBeating = false
    if (running.length > 0) this.#arm(now)
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
