import type { FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { NoteForeignCall } from '../http/access.ts'
import { RateLimiter } from '../http/rate-limiter.ts'
import { auditOrigin, type Audit } from './audit.ts'

/** Entries about one user in a minute: a hostile page makes a browser call as often as it likes. */
const most = 10

/** Writes down that a page of another site tried to do something with somebody's cookie. */
export function createForeignCallNotes(audit: Audit, clock: Clock): NoteForeignCall {
  const limiter = new RateLimiter(clock)
  return async (request: FastifyRequest, { userId, sessionId }) => {
    if (userId === undefined || !limiter.take(userId, most).allowed) return
    await audit.note({
      ...auditOrigin(request),
      action: 'call.refused',
      userId,
      target: `session:${sessionId}`,
      code: 'foreign-origin',
      detail: { call: `${request.method} ${request.routeOptions.url}` },
    })
  }
}
