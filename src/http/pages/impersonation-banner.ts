import type { FastifyInstance, FastifyRequest } from 'fastify'
import { escapeHtml } from './html.ts'

/** What the banner says. */
export interface ShownImpersonation {
  /** The name of the user whom the admin acts for. */
  user: string
  /** ISO 8601. */
  until: string
}

/**
 * Puts a banner on every page while an admin acts for a user. It is added when answers are sent, and not by the pages, so no page can
 * lack it. Calls `find` only for browsers with the cookie for the admin's own session.
 * @param find reads who acts for whom in the browser of a request
 */
export function showImpersonations(
  app: FastifyInstance,
  find: (request: FastifyRequest) => Promise<ShownImpersonation | undefined>,
): void {
  const mayImpersonate = ({ headers: { cookie } }: FastifyRequest): boolean =>
    cookie?.includes('postern_impersonator=') === true
  app.addHook('onRequest', (request, _reply, done) => {
    // Otherwise, cached or compressed pages would lack the banner.
    if (mayImpersonate(request))
      for (const name of ['accept-encoding', 'if-none-match', 'if-modified-since'])
        delete request.headers[name]
    done()
  })
  // Other answers continue synchronously, as in guardRoutes.
  app.addHook('onSend', (request, reply, payload, finish) => {
    const isPage = String(reply.getHeader('content-type') ?? '').startsWith('text/html')
    const isWhole = typeof payload === 'string' || Buffer.isBuffer(payload)
    if (!isPage || !isWhole || !mayImpersonate(request)) return finish(null, payload)
    find(request).then(
      (shown) => {
        if (!shown) return finish(null, payload)
        for (const name of ['etag', 'content-length']) reply.removeHeader(name)
        reply.header('cache-control', 'no-store')
        finish(null, withBanner(payload.toString(), banner(app.basePath, shown)))
      },
      (error: unknown) => finish(error as Error),
    )
  })
}

/** At the beginning of the body, where screen readers also find it first. */
function withBanner(html: string, element: string): string {
  const at = /<body[^<>]*>|(?=<main>)/.exec(html)
  if (!at) return `${html}${element}`
  const end = at.index + at[0].length
  return `${html.slice(0, end)}\n${element}\n${html.slice(end)}`
}

function banner(basePath: string, { user, until }: ShownImpersonation): string {
  return `<link rel="stylesheet" href="${basePath}/assets/impersonation.css">
<form class="impersonation" method="post" action="${basePath}/auth/impersonation/stop" aria-label="Acting for a user" lang="en">
<p>You are acting for <strong>${escapeHtml(user)}</strong> until ${until.slice(11, 16)} UTC. You can look, but not change anything.</p>
<button>Stop</button>
</form>`
}
