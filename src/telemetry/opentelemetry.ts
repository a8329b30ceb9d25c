import { subscribe } from 'node:diagnostics_channel'
import { exit, type Exit, type Operation, spans, type Work } from './spans.ts'
import type { TraceContext } from './propagation.ts'

interface SpanContext {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote?: boolean
  traceState?: TraceState
}

interface TraceState {
  serialize(): string
}

interface Span {
  spanContext(): SpanContext
  setAttributes(attributes: Work['attributes']): unknown
  recordException(error: Error): void
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** The parts of `@opentelemetry/api` that are used. The package is yours: Postern does not depend on it. */
export interface OpenTelemetryApi {
  readonly ROOT_CONTEXT: object
  createTraceState(text: string): TraceState
  readonly context: {
    active(): object
    with(context: never, task: () => unknown): unknown
  }
  readonly trace: {
    getTracer(name: string): { startSpan(name: string, options: object, context: never): Span }
    getSpanContext(context: never): SpanContext | undefined
    setSpan(context: never, span: never): object
    setSpanContext(context: never, spanContext: never): object
  }
}

/** Values of SpanKind. A delivery may be handled after days, so both sides of a queue are apart. */
const kinds: Readonly<Record<Operation, number>> = { verify: 1, commit: 0, handle: 4, emit: 3, attempt: 2 }
/** SpanStatusCode.ERROR */
const failed = 2

/** Operations that run within the caller's own work. The others are called from queues, where another event's context may be active. */
const ofCaller: ReadonlySet<Operation> = new Set(['verify', 'emit'])

/**
 * Makes an OpenTelemetry span of each operation that the diagnostics channels `postern:*` publish. Call it in a module that is loaded by
 * `--import`, after your SDK has started.
 * @param shutdown of your SDK: called after the last span, before `postern serve` exits, which waits for it for three seconds
 */
export function traceWith(api: OpenTelemetryApi, shutdown?: () => Promise<unknown>): void {
  const { context, trace } = api
  const tracer = trace.getTracer('postern')
  const open = new WeakMap<Work, Span>()

  const parentOf = ({ operation, parent }: Work): object => {
    const active = context.active()
    if (ofCaller.has(operation) && trace.getSpanContext(active as never)) return active
    return parent
      ? trace.setSpanContext(api.ROOT_CONTEXT as never, remote(parent) as never)
      : api.ROOT_CONTEXT
  }
  const remote = ({ traceparent, tracestate }: TraceContext): SpanContext => ({
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  })
  const begun = (message: unknown): void => {
    const work = message as Work
    const { operation, attributes } = work
    const options = { kind: kinds[operation], attributes }
    const parent = parentOf(work)
    const span = tracer.startSpan(`postern ${operation}`, options, parent as never)
    open.set(work, span)
    work.context = contextOf(span.spanContext())
    const active = trace.setSpan(parent as never, span as never)
    work.within = <T>(task: () => T): T => context.with(active as never, task) as T
  }
  const ended = (message: unknown): void => {
    const work = message as Work
    const span = open.get(work)
    if (!span) return
    span.setAttributes(work.attributes)
    if (work.error !== undefined) {
      const error =
        work.error instanceof Error ? work.error : new Error('something other than an error was thrown')
      span.recordException(error)
      span.setStatus({ code: failed, message: error.message })
    }
    span.end()
  }
  for (const { start, end } of Object.values(spans)) {
    subscribe(start.name, begun)
    subscribe(end.name, ended)
  }
  if (shutdown) subscribe(exit.name, (message) => (message as Exit).waitUntil(shutdown()))
}

/** Undefined without an SDK: then the ids are zeros. */
function contextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext | undefined {
  if (/^0*$/.test(traceId)) return undefined
  const tracestate = traceState?.serialize()
  return {
    traceparent: `00-${traceId}-${spanId}-${(traceFlags & 3).toString(16).padStart(2, '0')}`,
    ...(tracestate && { tracestate }),
  }
}
