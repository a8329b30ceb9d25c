import type { FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import type { NoteForeignCall, NoteForbidden } from '../http/access/access.ts'
import { clientNetwork } from '../http/limits/client-address.ts'
import type { Principal } from '../http/access/principal.ts'
import { RateLimiter } from '../http/limits/rate-limiter.ts'
import { auditOriginOf, type Audit, type AuditEntry, type AuditOrigin } from './audit/audit.ts'

/** Entries about one principal, or one target and client network, in a minute at most: anybody can repeat a refused call. */
const mostPerCaller = 10
/** Entries in a minute at most: an attacker can have many networks. */
const mostInTotal = 300

/** The subject of a refusal. The caller and the address come from the request. */
export type Refusal = Pick<AuditEntry, 'action' | 'code'> & Partial<Pick<AuditEntry, 'target' | 'userId'>>

/** Audits a refused request. It never rejects: the request is refused in any case. */
export type NoteRefusal = (request: FastifyRequest, refusal: Refusal, principal?: Principal) => Promise<void>

/** The caller of a refused request that the framework did not see. */
interface RefusedCall {
  origin: AuditOrigin
  /** The client network. */
  network: string
  /** The user, if the caller is known. */
  userId?: string | undefined
  /** The method and path. */
  call: string
}

/** As `NoteRefusal`, for a request that the framework did not see. */
export type NoteRefusedCall = (caller: RefusedCall, refusal: Refusal) => Promise<void>

/**
 * Audits refused calls. Entries are limited per caller and in total, so that a flood of calls neither fills the table nor
 * delays other writers. The request log has all calls.
 */
export function createRefusalNotes(audit: Pick<Audit, 'note'>, clock: Clock) {
  const limiter = new RateLimiter(clock)
  const note = async (caller: string, call: string, entry: AuditEntry): Promise<void> => {
    if (!limiter.take(caller, mostPerCaller).allowed || !limiter.take('all', mostInTotal).allowed) return
    await audit.note({ ...entry, detail: { call } })
  }
  const noteRefusal: NoteRefusal = (request, refusal, principal) => {
    const caller = principal?.userId ?? principal?.keyId ?? principal?.owner ?? principal?.clientId
    const network = `network ${clientNetwork(request)} ${refusal.target ?? ''}`
    const key = caller === undefined ? network : `caller ${caller}`
    const call = `${request.method} ${request.routeOptions.url}`
    return note(key, call, { ...auditOriginOf(request, principal), ...refusal })
  }
  const noteRefusedCall: NoteRefusedCall = ({ origin, network, userId, call }, refusal) => {
    const key = userId === undefined ? `network ${network}` : `caller ${userId}`
    return note(key, call, { ...origin, userId, ...refusal })
  }
  /** A page of another site made the call with a user's cookie. */
  const noteForeignCall: NoteForeignCall = (request, principal) => {
    const { userId, sessionId } = principal
    const target = sessionId === undefined ? undefined : `session:${sessionId}`
    return noteRefusal(request, { action: 'call.refused', code: 'foreign-origin', userId, target }, principal)
  }
  /** The role of the principal does not allow the call. */
  const noteForbidden: NoteForbidden = (request, principal, code) =>
    noteRefusal(request, { action: 'call.forbidden', code, userId: principal.userId }, principal)
  return { noteRefusal, noteRefusedCall, noteForeignCall, noteForbidden }
}
