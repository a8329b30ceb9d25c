import { channel, type Channel } from 'node:diagnostics_channel'
import { systemClock } from '../runtime/clock.ts'
import { withinTime } from '../storage/unavailable.ts'
import { readTraceContext, type TraceContext } from './propagation.ts'

export type Operation = 'verify' | 'commit' | 'handle' | 'emit' | 'attempt'

/** A piece of work, as both of its channels publish it. */
export interface Work {
  readonly operation: Operation
  /** Where the webhook or the event belongs, if its headers say so. */
  readonly parent: TraceContext | undefined
  /** With the names of https://opentelemetry.io/docs/specs/semconv/ where it has one. */
  readonly attributes: Record<string, string | number | boolean>
  /** Why the work failed, once it has ended. */
  error?: unknown
  /** A subscriber of the start may set the context of its span, which what follows gets. */
  context?: TraceContext | undefined
  /** A subscriber of the start may set how to run the work, so that its span is active meanwhile. */
  within?: (<T>(work: () => T) => T) | undefined
}

interface Channels {
  readonly start: Channel
  readonly end: Channel
}

const channels = (operation: Operation): Channels => ({
  start: channel(`postern:${operation}:start`),
  end: channel(`postern:${operation}:end`),
})

/**
 * The diagnostics channels of each operation. Ask `start.hasSubscribers` before anything is computed for them: that costs nothing
 * without a subscriber.
 */
export const spans: Readonly<Record<Operation, Channels>> = {
  verify: channels('verify'),
  commit: channels('commit'),
  handle: channels('handle'),
  emit: channels('emit'),
  attempt: channels('attempt'),
}

/** Publishes the start of an operation. @param headers may have the trace context; those of a stored event are JSON */
export function begin(
  operation: Operation,
  headers: Parameters<typeof readTraceContext>[0] | string | null,
  attributes: Work['attributes'],
): Work {
  const read = typeof headers === 'string' ? (JSON.parse(headers) as Record<string, string>) : headers
  const work: Work = { operation, parent: read ? readTraceContext(read) : undefined, attributes }
  spans[operation].start.publish(work)
  return work
}

export function end(work: Work, error?: unknown): void {
  if (error !== undefined) work.error = error
  spans[work.operation].end.publish(work)
}

/** Runs an operation that has begun, and ends it. */
export async function run<T>(work: Work, task: () => T | Promise<T>): Promise<T> {
  try {
    const result = await (work.within ? work.within(task) : task())
    end(work)
    return result
  } catch (error) {
    end(work, error)
    throw error
  }
}

/** Headers with the context of a span in place of their own. */
export function withContext<H extends object>(headers: H, { context }: Work): H {
  if (!context) return headers
  const { traceparent: _parent, tracestate: _state, ...others } = headers as H & Partial<TraceContext>
  return { ...others, ...context } as unknown as H
}

/** Published when the last span has ended and the process is about to exit. */
export const exit = channel('postern:exit')
/** Milliseconds. */
const longestFlush = 3_000

export interface Exit {
  /** Delays the exit until the promise settles. */
  waitUntil(sent: Promise<unknown>): void
}

/** Lets the subscribers of `postern:exit` send what they hold in memory. @throws their errors, also that they take too long */
export async function flush(): Promise<void> {
  const waiting: Promise<unknown>[] = []
  exit.publish({ waitUntil: (sent) => void waiting.push(sent) } satisfies Exit)
  if (waiting.length === 0) return
  const late = new Error(`sending them took more than ${longestFlush / 1000} s`)
  await withinTime(systemClock, longestFlush, Promise.all(waiting), late)
}
