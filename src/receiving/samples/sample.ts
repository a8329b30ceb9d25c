import { createHmac } from 'node:crypto'

/** A signed webhook as its sender would make it. */
export interface SignedSample {
  /** With a content type only where it is not JSON's. */
  headers: Record<string, string>
  body: string
}

export interface SampleRequest {
  type: string
  /** What the receiver verifies by; of senders with a key pair, the private half. */
  secret: string
  id: string
  /** Milliseconds since 1970. */
  now: number
  /** The event's own fields, beside id and type. */
  data: unknown
  /** The address that is sent to: some senders sign it. */
  url?: string
  /** The body to sign instead of a sample: that of an event that the service has shown, with its times and secrets to be renewed. */
  raw?: string | undefined
}

export type SignSample = (request: SampleRequest) => SignedSample

/** A body, else the sample as JSON, with the headers that its sender makes for it. */
export function jsonSample(
  raw: string | undefined,
  sample: unknown,
  headersOf: (body: string) => Record<string, string>,
): SignedSample {
  const body = raw ?? JSON.stringify(sample)
  return { body, headers: headersOf(body) }
}

/** HMAC-SHA256 of a text. */
export function hmacOf(
  secret: string | Uint8Array,
  text: string,
  encoding: 'hex' | 'base64' = 'hex',
): string {
  return createHmac('sha256', secret).update(text).digest(encoding)
}

export const formType = { 'content-type': 'application/x-www-form-urlencoded' }

/** Data as the field of a form: a text as it is, all else as JSON. */
export function fieldOf(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data)
}

/** `issues.opened` as its kind and its action. */
export function splitType(type: string): readonly [kind: string, action: string | undefined] {
  const at = type.indexOf('.')
  return at === -1 ? [type, undefined] : [type.slice(0, at), type.slice(at + 1)]
}

export function secondsOf(now: number): number {
  return Math.floor(now / 1000)
}

/** An id as a sender writes it: `evt_…`. */
export function withPrefix(prefix: string, id: string): string {
  return id.startsWith(prefix) ? id : prefix + id
}
