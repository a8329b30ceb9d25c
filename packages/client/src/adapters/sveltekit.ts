import type { Session, Sessions, UserDemands } from '../session/sessions.ts'
import { refusalResponse, userGuard } from './guards.ts'

interface Event {
  request: Request
  url: URL
  locals: object
}
interface Input<E extends Event> {
  event: E
  resolve: (event: E) => Response | Promise<Response>
}

/** What `handle` leaves in `event.locals`; name it in `App.Locals`. */
export interface PosternLocals {
  session: Session | null
}

export interface HandleOptions<E extends Event> {
  /** What a request needs; `undefined` for pages that everybody may see. Default: nothing. */
  protect?: ((event: E) => UserDemands | undefined) | undefined
}

/** The hook `handle`: puts the session into `event.locals.session`, and refuses what `protect` does. */
export function createHandle<E extends Event>(
  sessions: Pick<Sessions, 'getSession' | 'requireUser'>,
  { protect }: HandleOptions<E> = {},
): (input: Input<E>) => Promise<Response> {
  return async ({ event, resolve }) => {
    const locals = event.locals as PosternLocals
    const demands = protect?.(event)
    try {
      locals.session = demands
        ? await userGuard(sessions, demands)(event.request)
        : await sessions.getSession(event.request)
    } catch (error) {
      return refusalResponse(error)
    }
    return resolve(event)
  }
}
