import type { App } from '../http/app.ts'
import { isLoopbackHost } from '../network/loopback.ts'

/**
 * For demo mode: cookies belong to one name of this machine, and the provider leads back to the one in BASE_URL. Who
 * came by another one (localhost for 127.0.0.1) is led there before a sign-in begins. Only between names of loopback, so
 * that no Host header leads anywhere else.
 */
export function insistOnBaseUrl(scope: App, baseUrl: () => string): void {
  scope.addHook('onRequest', (request, reply, done) => {
    const base = new URL(baseUrl())
    const { host } = request.headers
    const asked = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : ''
    const another = asked !== base.hostname && isLoopbackHost(asked) && isLoopbackHost(base.hostname)
    if (request.method === 'GET' && another) void reply.redirect(base.origin + request.url, 303)
    else done()
  })
}
