import { readTraceContext, type TraceContext } from '../telemetry/trace-context.ts'

/** Events in a chain in which each caused the next one. A handler of the last one cannot emit. */
export const longestChain = 32

/**
 * The header that a delivery carries from the third event of a chain on: the position of its event. A service that posts an event because
 * of a delivery may send it back.
 */
const depthHeader = 'postern-depth'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * The id of the emitted event if a received one was a delivery of a Postern service. A sender can claim this, so it decides only about
 * what is shown, and about the depth of the sender's own event.
 */
export function deliveredId(headers: Headers): string | undefined {
  const { 'user-agent': agent, 'webhook-id': id } = headers
  return typeof agent === 'string' && agent.startsWith('Postern/') && typeof id === 'string' ? id : undefined
}

/**
 * The events before a received one in its chain. A delivery without the header is of an event that was emitted by a request, or by the
 * handler of an event without a cause: it counts as the second of its chain.
 */
export function depthOf(headers: Headers): number {
  const depth = headers[depthHeader]
  if (typeof depth === 'string' && /^[0-9]{1,3}$/.test(depth)) return Number(depth) + 1
  return deliveredId(headers) === undefined ? 0 : 2
}

/**
 * The headers that deliveries of an emitted event carry because of the request that led to it, as JSON; null without any. They are stored
 * as the headers of the event, so that they are sent after days too.
 * @param trace the trace context, if it is not that of the headers
 */
export function passedOn(headers: Headers, trace: TraceContext | undefined = readTraceContext(headers)) {
  const depth = depthOf(headers) + 1
  if (depth < 2 && !trace) return null
  return JSON.stringify({ ...trace, ...(depth >= 2 && { [depthHeader]: String(depth) }) })
}

/** A handler emitted at the end of the longest chain. Another attempt would do so too, so the event fails at once. */
export class EventLoop extends Error {
  constructor() {
    super(
      `The chain of events was stopped: ${longestChain} events, each caused by the one before. Make sure that no endpoint sends what is emitted back to this service.`,
    )
    this.name = 'EventLoop'
  }
}
