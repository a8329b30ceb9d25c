import { usersOfAddress } from '../../accounts/users/identities.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { BoundBrowser } from '../../http/responses/host-cookie.ts'
import { Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import { fill } from '../../http/pages/language/languages.ts'
import { type PageView, sendRefresh } from '../../http/pages/page-view.ts'
import { loginPath } from '../../http/requests/base-path.ts'
import { withForms } from '../../http/requests/parameters.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { closedObject } from '../../http/schemas/schemas.ts'
import type { Row } from '../../storage/tables.ts'
import type { LoginServices } from '../services.ts'
import type { SignedIn } from '../sign-in.ts'
import { originOf, rememberSignIn, sendFinished } from './callback-route.ts'
import { failurePath, recordFailure, SignInFailure } from './failures.ts'
import { appOf, entryOf, type Offer, offerId } from './flows.ts'
import { findProvider, limitPerIp, parseDemands, startFlow } from './start-route.ts'

// With `login.sameAddress: 'offer'`, a new identity with a user's verified address is stored with its flow, sealed and bound to the
// browser. The person signs in as that user, which links it, or continues as a new user. The address alone never links anything: it only
// decides whether the page is shown.

/**
 * The page with the choice. It names providers only: not the user, who may be somebody else. It has no script.
 * @param message about a failed attempt, as HTML
 */
export async function offerPage(
  { database, providers }: LoginServices,
  view: PageView,
  offer: Offer,
  message: string,
): Promise<string> {
  const { signIn } = view.words
  const { row, verified } = offer
  const known = await usersOfAddress(database.reader, verified.identity)
  const names = new Set(known.map(({ provider }) => provider))
  const earlier = [...names].flatMap((name) => providers.get(name)?.provider ?? [])
  const label = providers.get(row.provider)?.provider.label ?? row.provider
  const labels = earlier.map((provider) => escapeHtml(provider.label))
  const list = new Intl.ListFormat(view.language, { type: 'disjunction' }).format(labels)
  const links = earlier.map(
    ({ name, label: text, icon }) =>
      `<button class="wide" name="provider" value="${escapeHtml(name)}"><img class="icon" src="${escapeHtml(icon)}" alt=""> ${fill(signIn.linkWith, { provider: escapeHtml(text) })}</button>`,
  )
  const values = { provider: escapeHtml(label), address: strong(verified.identity.email ?? '') }
  const explanation = earlier.length === 0 ? '' : `<p>${fill(signIn.sameAddress, values)}</p>\n`
  return narrowPage(
    view,
    earlier.length === 0 ? signIn.title : fill(signIn.signedInBefore, { providers: list }),
    `${message}
${explanation}<form method="post" action="${view.site.basePath}/login/offer">
<input type="hidden" name="offer" value="${offerId(offer)}">
${links.join('\n')}
<button class="wide" name="new_user" value="true">${signIn.newUser}</button>
</form>`,
  )
}

/** POST /login/offer: the person's choice. Other sites know no offer, and their forms are sent without the browser's cookie. */
export async function offerRoute(app: App, parts: LoginServices): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/login/offer',
      route(
        'public',
        ['sign-in'],
        'Link the identity of a sign-in to an earlier user, or continue as a new one; the form of /login',
        {
          produces: ['text/html'],
          body: closedObject({
            offer: Type.String({ pattern: '^[\\w-]{43}$', description: 'Of the page' }),
            provider: Type.Optional(Type.String({ description: 'Sign in there, and link the identity' })),
            new_user: Type.Optional(Type.Literal('true', { description: 'Continue as a new user' })),
          }),
          response: { 200: Type.String({ description: 'A page that redirects' }), 303: Type.Null() },
        },
        { rateLimit: limitPerIp, sends: { sometimes: ['Set-Cookie', 'Refresh', ...ofPages] } },
      ),
      async (request, reply) => {
        const { offer: id, provider, new_user: newUser } = request.body
        if ((provider === undefined) === (newUser === undefined))
          throw new Problem('invalid-parameter', { parameter: 'provider', detail: 'Send it, or `new_user`.' })
        const browser = parts.binding.of(request, reply)
        const found = await parts.flows.findOffer(Buffer.from(id, 'base64url'), browser)
        const { row, verified } = found
        if (provider === undefined) return continueAsNewUser(parts, request, reply, { id, browser, found })
        if (!row || !verified) return reply.redirect(expiredPath(routes.basePath, row), 303)
        return signInEarlier(parts, request, reply, { provider, offer: { row, verified } })
      },
    )
  })
}

function expiredPath(basePath: string, row: Row<'flows'> | undefined): string {
  const invitation = row?.invitation ? 'true' : undefined
  return loginPath(basePath, { error: 'sign-in-expired', invitation, return_to: row?.return_to })
}

/**
 * Starts the sign-in that links. It continues to the target of the first one. As for other links, the provider is asked to
 * reauthenticate the person: an unattended browser with a session there is not enough.
 */
async function signInEarlier(
  parts: LoginServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { provider, offer }: { provider: string; offer: Offer },
): Promise<FastifyReply> {
  const providerClient = findProvider(parts.providers, provider)
  const { row } = offer
  return startFlow(parts, request, reply, {
    providerClient,
    isForm: true,
    intent: {
      returnTo: row.return_to,
      app: appOf(row),
      demands: parseDemands({ reauthenticate: 'true' }, []),
      // If this is a new identity, too, the sign-in fails instead of creating another offer.
      entry: { ...entryOf(row), newUser: true },
      offer,
    },
  })
}

/** Ends the first sign-in as it would have ended without the offer. The same form again gets the same outcome. */
async function continueAsNewUser(
  parts: LoginServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, browser: bound, found }: { id: string; browser: BoundBrowser; found: Partial<Offer> },
): Promise<FastifyReply> {
  const { flows, signIn, sessionCookie, providers, signInsEnded } = parts
  const { row, verified } = found
  if (!row || !providers.has(row.provider))
    return reply.redirect(expiredPath(request.server.basePath, row), 303)
  const token = flows.tokenOf(row, bound, id)
  const browser = { origin: originOf(request), sessionToken: sessionCookie.read(request) }
  try {
    if (!verified) throw new SignInFailure('sign-in-expired', new Error('the offer was used, or has expired'))
    const signedIn = await signIn.complete({ ...row, new_user: 1 }, verified, { browser, token })
    signInsEnded.inc({ provider: row.provider, outcome: 'ok' })
    return await sendOnward(parts, reply, row, signedIn)
  } catch (error) {
    const failure = error instanceof SignInFailure ? error : new SignInFailure('unavailable', error)
    if (failure.code === 'sign-in-expired') {
      const { row: now } = await flows.findOffer(row.state_hash, bound)
      const outcome = now && flows.isRecent(now) ? await flows.outcomeOf(now) : undefined
      const again =
        outcome && outcome.kind !== 'failed' && (await signIn.repeat(row, outcome, { token, browser }))
      if (again) return sendOnward(parts, reply, row, again)
    }
    const { provider, return_to: returnTo, invitation } = row
    const failed = { provider, failure, returnTo, invitation, offer: verified && id }
    await recordFailure(parts, request, failed)
    return reply.redirect(failurePath(parts, request, failed), 303)
  }
}

/** With a Refresh header: see sendRefresh. */
async function sendOnward(
  parts: LoginServices,
  reply: FastifyReply,
  row: Row<'flows'>,
  signedIn: SignedIn,
): Promise<FastifyReply> {
  if (signedIn.kind === 'finished') return sendFinished(reply, signedIn.app)
  rememberSignIn(parts, reply, row.provider, signedIn)
  const app = row.client_id === null ? undefined : await parts.apps.linkTo(row.client_id)
  const name = app?.name ?? (await parts.apps.nameFor(row.return_to)) ?? reply.server.site.plainName
  return sendRefresh(reply, name, signedIn.redirect)
}
