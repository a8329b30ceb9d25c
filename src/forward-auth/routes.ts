import { Type } from 'typebox'
import type { App } from '../http/app.ts'
import { forwardPath } from './forwarded-request.ts'
import { identityHeaders } from './identity-headers.ts'
import type { Gate } from './gate.ts'

const Page = { content: { 'text/html': { schema: Type.String() } } }

/** GET /auth/forward, where proxies ask whether a request may pass. They may use all methods, and paths below. */
export function forwardRoute(app: App, gate: Gate): void {
  app.raw.addTree({
    path: forwardPath,
    sends: { sometimes: ['Location', ...identityHeaders, 'Remote-Token', 'Cookie'] },
    // token-lookups.ts has the limit.
    uncounted: true,
    schema: {
      tags: ['sign-in'],
      summary: 'For reverse proxies: whether a request may reach an application',
      description:
        'The proxy passes on the method, host and path of the request as `X-Forwarded-Method`, `-Host` and `-Uri`, with its cookies and `Accept`. 204 has the headers for the application: `Remote-User`, `Remote-Email`, `Remote-Name`, `Remote-Groups`, `Remote-Token`, empty unless it is configured, and `Cookie` without the cookies of this service. If the request has no other cookies, it is `postern=removed`. With `?for=nginx`, a redirect is sent as 401 with `Location`. Envoy asks with the path of the request behind this one, and gets 200.',
      response: {
        204: { description: 'The request may pass.', type: 'null' },
        302: { description: 'A page for a person who has to sign in first.', type: 'null' },
        401: {
          description: 'Another request without a session; for a form a page that explains it.',
          ...Page,
        },
        403: { description: 'A page for a signed-in person whom the rules do not let pass.', ...Page },
      },
    },
    answer: (call) => gate.answer(call),
  })
}
