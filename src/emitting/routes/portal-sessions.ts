import type { FastifyRequest } from 'fastify'
import type { HostCookie } from '../../http/responses/host-cookie.ts'
import { Problem } from '../../errors.ts'
import type { Authenticate } from '../../http/access/principal.ts'
import type { Portal, PortalSession } from '../portal.ts'

/** Authenticates portal calls by the cookie of the portal, or by the token of a frame. No API key and no other session is valid there. */
export function authenticatePortal(portal: Portal, cookie: HostCookie): Authenticate {
  return async (request) => {
    const session = await findSession(request, portal, cookie)
    return session && { kind: 'portal', role: 'user', owner: session.owner, sessionId: session.id }
  }
}

/** The token of a frame's session. */
export function frameToken({ headers }: FastifyRequest): string | undefined {
  return /^Bearer (pt_[\w-]{1,100})$/i.exec(headers.authorization ?? '')?.[1]
}

/** The session of a frame's token, or of the cookie. */
export async function findSession(
  request: FastifyRequest,
  portal: Portal,
  cookie: HostCookie,
): Promise<PortalSession | undefined> {
  // A call with a token of a frame never falls back to the cookie, which may be that of another owner.
  const token = frameToken(request) ?? cookie.read(request)
  return token === undefined ? undefined : portal.find(token)
}

/** @throws Problem `not-signed-in` */
export async function sessionOf(
  request: FastifyRequest,
  portal: Portal,
  cookie: HostCookie,
): Promise<PortalSession> {
  const session = await findSession(request, portal, cookie)
  if (!session) throw new Problem('not-signed-in')
  return session
}
