type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Where a piece of work belongs in a distributed trace, as headers of W3C Trace Context (https://www.w3.org/TR/trace-context/). */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

/** Version, trace id, parent id, flags; later versions may append more after a hyphen. */
const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** Characters that are looked at. A later version is longer than the 55 of this one, but not by much. */
const longestParent = 256
/** Characters and members of a tracestate: the least that a vendor should propagate, and the most members that are valid. */
const longestState = 512
const mostMembers = 32
/** A key, which may begin with a tenant, and a printable value without a comma or an equals sign. */
const member =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/**
 * Reads the trace context of a request. A traceparent that is malformed, of the forbidden version ff or with an id of zeros counts as
 * absent; one of a later version is read as version 00. A tracestate that is malformed or too long is left out.
 */
export function readTraceContext(headers: Headers): TraceContext | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string' || traceparent.length > longestParent) return undefined
  const [, version, trace, parent, flags, more] = parts.exec(traceparent.trim()) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (isZero(trace!) || isZero(parent!)) return undefined
  const tracestate = readState(headers['tracestate'])
  // Of the flags, version 00 defines the first two bits; others must be set to zero.
  const known = (Number.parseInt(flags!, 16) & 3).toString(16).padStart(2, '0')
  return { traceparent: `00-${trace}-${parent}-${known}`, ...(tracestate !== undefined && { tracestate }) }
}

const isZero = (id: string): boolean => !/[^0]/.test(id)

function readState(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.join(',') : header
  if (text === undefined || text.length > longestState) return undefined
  const members = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const keys = new Set(members.map((one) => one.slice(0, one.indexOf('='))))
  const isValid =
    members.length > 0 &&
    members.length <= mostMembers &&
    keys.size === members.length &&
    members.every((one) => member.test(one))
  return isValid ? members.join(',') : undefined
}

/** Events in a chain in which each caused the next one. A handler of the last one cannot emit. */
export const longestChain = 32

/**
 * The header that a delivery carries from the third event of a chain on: the position of its event. A service that posts an event because
 * of a delivery may send it back.
 */
const depthHeader = 'postern-depth'

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
