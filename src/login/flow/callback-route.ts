import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { HostCookie } from '../../accounts/sessions/host-cookie.ts'
import type { App } from '../../http/app.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import { rawQuery, readOAuthParameters } from '../../http/requests/query-string.ts'
import { finishSignIn } from './callback.ts'
import { failurePath, recordFailure } from './failed-sign-ins.ts'
import type { SignIn } from '../sign-in.ts'
import { findProvider, limitPerIp, ProviderParams } from './provider-param.ts'
import type { StartParts } from './start-flow.ts'

export interface CallbackRouteParts extends StartParts {
  signIn: SignIn
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
      config: {
        access: 'public',
        rateLimit: { ...limitPerIp, per: perState },
        sends: { sometimes: ['Set-Cookie'] },
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
        response: { 303: Type.Null() },
      },
    },
    async (request, reply) => {
      const { sessionCookie, binding } = parts
      const providerClient = findProvider(parts.providers, request.params.provider)
      const origin = { ...auditOrigin(request), address: clientIp(request) }
      const outcome = await finishSignIn(parts, {
        providerClient,
        query: rawQuery(request.url),
        browserHashes: binding.of(request, reply).hashes,
        browser: { origin, sessionToken: sessionCookie.read(request) },
      })
      if (!outcome.ok) {
        const { failure, flow, redirect } = outcome
        const linkingUserId = flow?.user_id ?? undefined
        await recordFailure(parts, request, { providerClient, failure, linkingUserId })
        return reply.redirect(
          redirect ?? failurePath(parts, request, { providerClient, failure, returnTo: flow?.return_to }),
          303,
        )
      }
      const { signedIn } = outcome
      parts.count(providerClient.provider.name, 'ok')
      if (signedIn.kind === 'session') {
        sessionCookie.set(reply, signedIn.token, signedIn.maxAge)
        parts.lastProvider.set(reply, providerClient.provider.name, remembered)
      }
      return reply.redirect(signedIn.redirect, 303)
    },
  )
}
