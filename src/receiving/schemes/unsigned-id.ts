import { bodyDigest } from './body.ts'

/** For senders that sign the body, and not the header that has the event's id. */
export interface UnsignedIdOptions {
  /**
   * `digest`: the id is the digest of the body, which is signed. Then one signature is one event: a request that was recorded
   * and is sent again under another id is a duplicate. So are two events whose bodies are the same, byte for byte.
   * Default: the header, by which the sender names an event and its repetitions.
   */
  id?: 'digest'
}

/** What tells an event from others: the sender's own id, or the body's digest where that was asked for. */
export function idBy({ id }: UnsignedIdOptions, rawBody: Uint8Array, sendersId: () => unknown): unknown {
  return id === 'digest' ? bodyDigest(rawBody) : sendersId()
}
