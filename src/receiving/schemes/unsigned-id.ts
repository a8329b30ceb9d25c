import { bodyDigest } from './body.ts'

/** For senders that sign the body but not the header with the event's id. */
export interface UnsignedIdOptions {
  /**
   * `digest`: the id is the digest of the signed body, so a recorded request that is replayed under another id is a
   * duplicate. Two events with equal bodies are duplicates as well. Default: the sender's header.
   */
  id?: 'digest'
}

/** An id that the sender repeats for other bodies, with the body's digest; the digest alone if there is no id. */
export function withDigest(id: string | undefined, rawBody: Uint8Array): string {
  return id === undefined ? bodyDigest(rawBody) : `${id}:${bodyDigest(rawBody)}`
}

/** Returns the sender's id, or the digest of the body if the options request it. */
export function idBy({ id }: UnsignedIdOptions, rawBody: Uint8Array, sendersId: () => unknown): unknown {
  return id === 'digest' ? bodyDigest(rawBody) : sendersId()
}
