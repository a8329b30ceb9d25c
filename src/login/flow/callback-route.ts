import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { HostCookie } from '../../http/responses/host-cookie.ts'
import { actsOnGet } from '../../http/access/background.ts'
import type { App } from '../../http/app.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import { escapeHtml, narrowPage } from '../../http/pages/html.ts'
import { fill } from '../../http/pages/language/languages.ts'
import { pageView, sendPage } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import type { AppLink } from '../../http/pages/error-page.ts'
import { rawQuery, readOAuthParameters } from '../../http/requests/query-string.ts'
import type { Database } from '../../storage/database.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { finishSignIn } from './callback.ts'
import { failurePath, recordFailure } from './failed-sign-ins.ts'
import type { SignIn } from '../sign-in.ts'
import { findProvider, limitPerIp, ProviderParams } from './provider-param.ts'
import type { StartParts } from './start-flow.ts'

export interface CallbackRouteParts extends StartParts {
  signIn: SignIn
  database: Database
  sessionCookie: HostCookie
  lastProvider: HostCookie
}

/** Seconds that a browser remembers its provider. */
const remembered = 365 * 86_400

/** Reads the state as finishSignIn does: the common query parser ignores parameters beyond its bound. */
const stateOf = ({ url }: FastifyRequest): string | undefined =>
  readOAuthParameters(rawQuery(url), ['state']).values.state

/** Callbacks with one state in a minute. A sign-in comes back once; many callbacks with one state are guesses of the browser's cookie. */
const perState = { max: 30, value: stateOf }

/** GET /auth/{provider}/callback: finishes a sign-in. The checks are in callback.ts. */
export function callbackRoute(routes: App, parts: CallbackRouteParts): void {
  routes.get(
    '/auth/:provider/callback',
    {
      ...actsOnGet,
      config: {
        access: 'public',
        rateLimit: { ...limitPerIp, per: perState },
        sends: { sometimes: ['Set-Cookie', ...ofPages] },
      },
      schema: {
        tags: ['sign-in'],
        summary: 'The redirect URI at the provider: redirects to /dashboard, or to /login after a failure',
        params: ProviderParams,
        querystring: Type.Object({
          code: Type.Optional(Type.String()),
          state: Type.Optional(Type.String()),
          iss: Type.Optional(Type.String()),
          error: Type.Optional(Type.String()),
        }),
        response: { 200: Type.String({ description: 'The app has its code already' }), 303: Type.Null() },
      },
    },
    async (request, reply) => {
      const { sessionCookie, binding, database, flows } = parts
      const providerClient = findProvider(parts.providers, request.params.provider)
      const origin = { ...auditOrigin(request), address: clientIp(request) }
      const outcome = await finishSignIn(parts, {
        providerClient,
        query: rawQuery(request.url),
        bound: binding.of(request, reply),
        browser: { origin, sessionToken: sessionCookie.read(request) },
      })
      if (!outcome.ok && 'again' in outcome) return reply.redirect(outcome.again, 303)
      if (!outcome.ok) {
        const { failure, flow, isFirst, redirect } = outcome
        const linkingUserId = flow?.user_id ?? undefined
        await recordFailure(parts, request, { providerClient, failure, linkingUserId })
        const returnTo = flow?.return_to
        const location = redirect ?? failurePath(parts, request, { providerClient, failure, returnTo })
        // An unavailable database cannot store the outcome. The failure is logged.
        if (flow && isFirst && !(failure.cause instanceof StorageUnavailable))
          await database.transaction((tx) => flows.settle(tx, flow, { kind: 'failed', location }))
        return reply.redirect(location, 303)
      }
      const { signedIn, again } = outcome
      if (!again) parts.count(providerClient.provider.name, 'ok')
      if (signedIn.kind === 'finished') return sendFinished(reply, signedIn.app)
      if (signedIn.kind === 'session' && signedIn.token !== undefined) {
        sessionCookie.set(reply, signedIn.token, signedIn.maxAge)
        parts.lastProvider.set(reply, providerClient.provider.name, remembered)
      }
      return reply.redirect(signedIn.redirect, 303)
    },
  )
}

/** The app has exchanged its code, so there is nothing left to send there. */
function sendFinished(reply: FastifyReply, app: AppLink | undefined): FastifyReply {
  const view = pageView(reply)
  const { common, signIn } = view.words
  const back = app && fill(common.backTo, { name: escapeHtml(app.name) })
  const link = app && `<p><a class="button wide primary" href="${escapeHtml(app.href)}">${back}</a></p>`
  return sendPage(reply, narrowPage(view, signIn.doneTitle, `<p>${signIn.done}</p>\n${link ?? ''}`))
}
