import type { SignIn } from '../browser/sign-in.ts'
import { page } from '../browser/page.ts'
import { errorOfResponse } from '../errors.ts'
import { addressOf, send } from '../http.ts'
import { createSessions, type SessionOptions } from '../session/sessions.ts'

/** Who is signed in, for pages. */
export interface PageUser {
  id: string
  email: string | null
  name: string | null
  picture: string | null
}

/** How a page knows its user: by the cookie of the service, or by tokens. */
export interface SessionSource {
  load(): Promise<PageUser | null>
  signIn(): Promise<void>
  signOut(): Promise<void>
  /** Calls back when somebody signs in or out elsewhere. Returns what ends it. */
  onChange?(listener: () => void): () => void
}

/** For pages of the service's own host, and of hosts in CORS_ORIGINS with CORS_CREDENTIALS on, which can sign in but not out. */
export function cookieSource(options: SessionOptions): SessionSource {
  const { url, fetch, timeout = 5_000 } = options
  const sessions = createSessions({ ...options, timeout })
  return {
    load: async () => (await sessions.currentSession())?.user ?? null,
    async signIn() {
      const { pathname, search } = new URL(page.location.href)
      page.location.assign(addressOf(url, `/login?return_to=${encodeURIComponent(pathname + search)}`))
    },
    signOut: () =>
      send(
        addressOf(url, '/auth/logout'),
        { method: 'POST', credentials: 'include' },
        { fetch, timeout },
        async (response) => {
          // 401: the session had ended already.
          if (response.status >= 400 && response.status !== 401) throw await errorOfResponse(response)
        },
      ),
  }
}

/** For pages that sign in with `postern-client/browser`. */
export function tokenSource(signIn: SignIn): SessionSource {
  return {
    async load() {
      const token = await signIn.getAccessToken()
      const claims = token === undefined ? null : signIn.getUser()
      if (!claims) return null
      const { sub, email = null, name = null, picture = null } = claims
      return { id: sub, email, name, picture }
    },
    signIn: () => {
      const { pathname, search } = new URL(page.location.href)
      return signIn.signIn({ returnTo: pathname + search })
    },
    signOut: () => signIn.signOut(),
    onChange: (listener) => signIn.onChange(listener),
  }
}
