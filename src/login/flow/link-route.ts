import { Type } from 'typebox'
import type { RecentSignIn } from '../../accounts/sessions/recent-sign-in.ts'
import { sessionOf } from '../../accounts/routes.ts'
import type { App } from '../../http/app.ts'
import { refreshPage } from '../../http/pages/html.ts'
import { pageView } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { findProvider, limitPerIp, ProviderParams } from './provider-param.ts'
import { safeReturnTo } from './return-to.ts'
import { ReturnTo, startFlow, type StartParts } from './start-flow.ts'

export interface LinkRouteParts extends StartParts {
  recentSignIn: RecentSignIn
}

/** POST /auth/{provider}/link: starts the linking of another identity, shortly after a sign-in only. */
export function linkRoute(routes: App, parts: LinkRouteParts): void {
  routes.post(
    '/auth/:provider/link',
    {
      config: {
        access: 'session',
        rateLimit: { ...limitPerIp, perAccount: 30 },
        sends: { sometimes: ['Set-Cookie', 'Refresh', ...ofPages] },
      },
      schema: {
        tags: ['sign-in'],
        summary: 'Link another identity to the signed-in user: redirects to the provider',
        params: ProviderParams,
        querystring: Type.Object({ return_to: ReturnTo }),
        response: {
          200: Type.String({ description: 'For a form in a browser: a page that redirects' }),
          303: Type.Null(),
        },
      },
    },
    async (request, reply) => {
      const providerClient = findProvider(parts.providers, request.params.provider)
      const { userId, sessionId } = sessionOf(request)
      const returnTo = safeReturnTo(request.query.return_to, parts.baseUrl())
      const isForm = request.headers['sec-fetch-dest'] === 'document'
      const problem = await parts.recentSignIn.check(
        request,
        'identity.link_failed',
        providerClient.provider.name,
      )
      if (problem) {
        if (!isForm) throw problem
        const query = new URLSearchParams({ error: 'reauthentication-needed', return_to: returnTo })
        return reply.redirect(`${routes.basePath}/login?${query.toString()}`, 303)
      }
      const intent = { purpose: 'link', returnTo, userId, sessionId } as const
      const url = await startFlow(parts, request, reply, { providerClient, intent })
      if (url === undefined) return reply
      // Browsers apply the page's form-action policy to redirects after a form, and it does not list the provider. A page
      // with a Refresh header starts a new navigation.
      if (!isForm) return reply.redirect(url.href, 303)
      reply.header('refresh', `0;url=${url.href}`).type('text/html; charset=utf-8')
      return reply
        .serializer((html: string) => html)
        .send(refreshPage(pageView(reply), providerClient.provider.label, url.href))
    },
  )
}
