import type { App } from '../http/app.ts'
import { hostnameOf, isLoopbackHost } from '../network/loopback.ts'

/**
 * For demo mode: redirects a GET request to the host of BASE_URL, when it came by another name of this machine (localhost
 * for 127.0.0.1). Cookies belong to one host name, and the provider redirects to the one of BASE_URL. Only loopback names
 * are redirected, so a forged Host header has no effect.
 */
export function redirectToBaseUrl(routes: App, baseUrl: () => string): void {
  routes.addHook('onRequest', (request, reply, done) => {
    const base = new URL(baseUrl())
    const asked = hostnameOf(request.headers.host ?? '')
    const another = asked !== base.hostname && isLoopbackHost(asked) && isLoopbackHost(base.hostname)
    if (request.method === 'GET' && another) void reply.redirect(baseUrl() + request.url, 303)
    else done()
  })
}
