import type { FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import type { NoteForeignCall, NoteForbidden } from '../http/access.ts'
import { clientNetwork } from '../http/client-address.ts'
import type { Principal } from '../http/principal.ts'
import { RateLimiter } from '../http/rate-limiter.ts'
import { auditOriginOf, type Audit, type AuditEntry } from './audit.ts'

/** Entries in a minute about one principal or one client network: anybody can repeat a refused call. */
const mostPerCaller = 10
/** Entries in a minute altogether: an attacker can have many networks. */
const mostTogether = 300

/** What a refusal is about; who and from where comes from the request. */
export type Refusal = Pick<AuditEntry, 'action' | 'code'> & Partial<Pick<AuditEntry, 'target' | 'userId'>>

/** Writes down that a request was refused. It does not reject: the request is refused in any case. */
export type NoteRefusal = (request: FastifyRequest, refusal: Refusal, principal?: Principal) => Promise<void>

/**
 * Entries about refused calls, bounded per caller and altogether, so that a flood of them neither fills the table nor
 * holds up other writers. What is left out of the audit log is still in the request log.
 */
export function createRefusalNotes(audit: Pick<Audit, 'note'>, clock: Clock): NoteRefusal {
  const limiter = new RateLimiter(clock)
  return async (request, refusal, principal) => {
    const caller = principal?.userId ?? principal?.keyId ?? principal?.owner
    const key = caller === undefined ? `network ${clientNetwork(request)}` : `caller ${caller}`
    if (!limiter.take(key, mostPerCaller).allowed || !limiter.take('all', mostTogether).allowed) return
    await audit.note({
      ...auditOriginOf(request, principal),
      ...refusal,
      detail: { call: `${request.method} ${request.routeOptions.url}` },
    })
  }
}

/** Calls that a page of another site made with the cookie of somebody. */
export function createForeignCallNotes(note: NoteRefusal): NoteForeignCall {
  return (request, principal) => {
    const { userId, sessionId } = principal
    const target = sessionId === undefined ? undefined : `session:${sessionId}`
    return note(request, { action: 'call.refused', code: 'foreign-origin', userId, target }, principal)
  }
}

/** Calls of a known principal whose role does not allow them. */
export function createForbiddenNotes(note: NoteRefusal): NoteForbidden {
  return (request, principal, code) =>
    note(request, { action: 'call.forbidden', code, userId: principal.userId }, principal)
}
