import type { FastifyReply } from 'fastify'

/** Aborted when the connection of an answer closes, or when it has closed already: then no event tells of it any more. */
export function closedSignal({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const closed = new AbortController()
  if (raw.closed) closed.abort()
  else raw.once('close', () => closed.abort())
  return closed.signal
}
