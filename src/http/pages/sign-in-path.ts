import type { FastifyRequest } from 'fastify'
import { wayBack } from '../requests/way-back.ts'

/**
 * The address of the sign-in page that leads back to what a request asked for: `/login` checks the target again, since anybody can
 * write the parameter. Without one, the sign-in leads to the dashboard.
 */
export function signInPath(request: FastifyRequest): string {
  const login = `${request.server.basePath}/login`
  const back = request.url === '/dashboard' ? undefined : wayBack(request)
  return back === undefined ? login : `${login}?${new URLSearchParams({ return_to: back }).toString()}`
}
