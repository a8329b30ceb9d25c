/** A signed webhook as its sender would make it. */
export interface SignedSample {
  headers: Record<string, string>
  body: string
}

export interface SampleRequest {
  type: string
  secret: string
  id: string
  /** Milliseconds since 1970. */
  now: number
  /** The event's own fields, beside id and type. */
  data: unknown
}

export type SignSample = (request: SampleRequest) => SignedSample
