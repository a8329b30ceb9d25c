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
export function readTraceContext(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): TraceContext | undefined {
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
