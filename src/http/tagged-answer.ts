import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptedCoding, encode } from './content-coding.ts'
import { varyBy } from './cross-origin.ts'
import { isKnown, unasked, type EntityTags } from './entity-tags.ts'
import type { Sends } from './response-headers.ts'

/** A page of a list as it is sent. */
export interface Answer {
  /** JSON. */
  body: string
  /** The header Link (RFC 8288). */
  link?: string | undefined
}

export interface Asked {
  tags: EntityTags
  /** All that decides about the answer, besides the data. */
  question: string
  /** Whether the data of this database is all that it shows: only then can it be known before it is read. Default true. */
  early?: boolean
}

/** What such answers have, for their description. */
export const taggedSends: Sends = {
  always: ['ETag', 'Cache-Control', 'Vary'],
  sometimes: ['Link', 'Content-Encoding'],
}

/**
 * Sends a page of a list with its ETag, compressed where that is accepted. Nothing is made for a client that has it already, as far
 * as that is known before, and nothing is sent to one of which it is known after (304, RFC 9110, section 15.4.5).
 */
export async function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  { tags, question, early = true }: Asked,
  make: () => Promise<Answer>,
): Promise<FastifyReply> {
  const ifNoneMatch = request.headers['if-none-match']
  const before = early ? await tags.before(question, ifNoneMatch) : unasked
  if (before.known !== undefined) return reply.header('etag', before.known).code(304).send()

  const { body, link } = await make()
  const tag = tags.of(before, body)
  reply.header('etag', tag)
  if (link) reply.header('link', link)
  if (isKnown(tag, ifNoneMatch)) return reply.code(304).send()
  const coded = await encode(body, acceptedCoding(request.headers['accept-encoding']))
  if (coded.coding !== 'identity') reply.header('content-encoding', coded.coding)
  // The body is JSON text already; as a string of this type it passes the response serializer by.
  return reply.header('content-type', 'application/json; charset=utf-8').send(coded.body)
}

/** What everybody may see may be kept and asked for again with its tag; anything else is kept nowhere. */
export function cacheRules(reply: FastifyReply, isPublic: boolean): void {
  reply.header('cache-control', isPublic ? 'no-cache' : 'no-store')
  varyBy(reply, 'accept-encoding')
}
