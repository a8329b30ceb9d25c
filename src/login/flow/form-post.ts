import { Type } from 'typebox'
import { queryOf, withForms } from '../../http/requests/forms.ts'
import type { App } from '../../http/app.ts'
import { isObject } from '../provider-client/profile.ts'
import { findProvider, limitPerIp, ProviderParams } from './provider-param.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'

/** Characters. Codes and states are far shorter. */
const maxCharacters = 4096
/** Characters of a provider's explanation, which is for the log: the address of the redirect must not become too long. */
const longestExplanation = 500
const longestName = 200

const Field = (description: string) => Type.Optional(Type.String({ maxLength: maxCharacters, description }))

/**
 * POST /auth/{provider}/callback, for providers that answer with a form (OAuth 2.0 Form Post Response Mode): Apple, and others with
 * `response_mode=form_post` in their parameters. The POST comes from another site, so the browser does not send the flow cookie
 * (SameSite=Lax). This route checks only the form of the parameters and redirects to the same path as a GET, which carries the cookie.
 */
export async function formPostRoute(app: App, providers: ReadonlyMap<string, ProviderClient>): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/auth/:provider/callback',
      {
        config: { access: 'public', rateLimit: limitPerIp },
        schema: {
          tags: ['sign-in'],
          summary: 'The response from a provider that posts a form: redirects to the same path with GET',
          params: ProviderParams,
          body: Type.Object({
            state: Type.String({
              pattern: '^[A-Za-z0-9_-]{43}$',
              description: 'The state of the authorization request',
            }),
            code: Field('The authorization code'),
            error: Field('The error code, instead of a code'),
            iss: Field('RFC 9207'),
            error_description: Field('For the log'),
            error_uri: Field('For the log'),
            user: Field('JSON with the name, from Apple at the first sign-in'),
          }),
          response: { 303: Type.Null() },
        },
      },
      async ({ params: { provider }, body }, reply) => {
        findProvider(providers, provider)
        const { state, code, error, iss, user } = body
        const [error_description, error_uri] = [body.error_description, body.error_uri].map((text) =>
          text?.slice(0, longestExplanation),
        )
        const answer = { state, code, error, iss, error_description, error_uri, name: nameIn(user) }
        const given = Object.entries(answer).filter(
          (field): field is [string, string] => field[1] !== undefined,
        )
        const path = `${app.basePath}/auth/${encodeURIComponent(provider)}/callback`
        return reply.redirect(`${path}?${queryOf(given)}`, 303)
      },
    )
  })
}

/** https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple */
function nameIn(user: string | undefined): string | undefined {
  if (user === undefined) return undefined
  let document: unknown
  try {
    document = JSON.parse(user)
  } catch {
    // The name is optional: the sign-in continues without it.
    return undefined
  }
  const name = isObject(document) && isObject(document['name']) ? document['name'] : {}
  const parts = [name['firstName'], name['lastName']].filter(
    (part) => typeof part === 'string' && part !== '',
  )
  return parts.join(' ').trim().slice(0, longestName).toWellFormed() || undefined
}
