import type { OAuth2Services } from '../services.ts'
import { clientCall, OAuthError } from '../oauth-error.ts'
import { resourceOf, scopeOf } from '../authorize/request-parameters.ts'
import { clientCredentials } from '../token/token-call.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { loginPath } from '../../http/requests/base-path.ts'
import { rawQuery, readOAuthParameters, withForms } from '../../http/requests/parameters.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { Problem } from '../../errors.ts'
import { whenSignedOut } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { pageView, type PageView, rememberLocales, sendPage } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import { closedObject, optionalText } from '../../http/schemas/schemas.ts'
import type { Client } from '../clients/client.ts'
import { codeLifetime, decisionOf, displayUserCode, pollInterval, readUserCode } from './device-codes.ts'
import type { Row } from '../../storage/tables.ts'
import { describeDevice } from '../../accounts/sessions/devices.ts'
import { code, escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import type { Words } from '../../http/pages/language/en.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import { hiddenFields, personOf, rightsList } from '../consent/consent-page.ts'

/** Calls of one address, and codes that one session may try, in a minute. All processes count them together. */
const rateLimit = { max: 30, sharedByProcesses: true } as const
const perSession = 10

const tags = ['pages']
const page = Type.String({ description: 'A page' })
const Form = closedObject({
  user_code: Type.String(),
  compared: Type.Optional(Type.Literal('yes')),
  decision: Type.Enum(['allow', 'deny']),
})

/** A request that waits, and its app. */
interface Found {
  userCode: string
  device: Row<'device_codes'>
  client: Client
}

/** /device: a person approves the sign-in of a device (RFC 8628, section 3.3). */
export async function deviceRoutes(app: App, parts: OAuth2Services): Promise<void> {
  await withForms(app, (routes) => {
    showRoute(routes, parts)
    decideRoute(routes, parts)
  })
}

function showRoute(routes: App, parts: OAuth2Services): void {
  routes.get(
    '/device',
    route(
      'public',
      tags,
      'The page for device codes; redirects to /login without a session',
      {
        produces: ['text/html'],
        querystring: Type.Object({
          user_code: optionalText('The code, from a link or a QR code'),
          ui_locales: optionalText('The languages for the pages, in order of preference'),
        }),
        response: { 200: page, 303: Type.Null(), 400: page },
      },
      { rateLimit, sends: { sometimes: ['Set-Cookie', ...ofPages] } },
    ),
    async (request, reply) => {
      const { user_code: typed, ui_locales: locales } = readOAuthParameters(rawQuery(request.url)).values
      rememberLocales(reply, locales)
      const session = await parts.sessions.find(parts.sessionCookie.read(request))
      if (!session) return reply.redirect(signInPath(routes.basePath, typed), 303)
      if (typed === undefined) return sendPage(reply, codePage(pageView(reply)))
      const found = await look(parts, request, reply, { session, typed })
      if (typeof found === 'object')
        return sendPage(reply, await devicePage(parts, reply, { session, found }))
      return sendPage(reply, endPage(reply, found))
    },
  )
}

function decideRoute(routes: App, parts: OAuth2Services): void {
  routes.post(
    '/device',
    {
      ...route(
        'session',
        tags,
        'Allow or deny a device; the form of the page',
        { produces: ['text/html'], body: Form, response: { 200: page, 303: Type.Null(), 400: page } },
        { rateLimit, sends: { sometimes: ofPages } },
      ),
      errorHandler: whenSignedOut(parts.baseUrl, (reply) => reply.redirect(signInPath(routes.basePath), 303)),
    },
    async (request, reply) => {
      const { user_code: typed, compared, decision } = request.body
      const session = await parts.sessions.find(parts.sessionCookie.read(request))
      if (!session) throw new Problem('not-signed-in')
      const found = await look(parts, request, reply, { session, typed })
      if (typeof found !== 'object') return sendPage(reply, endPage(reply, found))
      if (decision === 'allow' && compared === undefined)
        return sendPage(
          reply.code(400),
          await devicePage(parts, reply, { session, found, notCompared: true }),
        )
      const wanted = decision === 'allow' ? 'approved' : 'denied'
      if (await decide(parts, request, { session, found, wanted }))
        return sendPage(reply, endPage(reply, wanted))
      // A form that is sent twice gets the decision of the first one.
      const decided = decisionOf(await parts.deviceCodes.find(found.userCode), session.userId)
      return sendPage(reply, endPage(reply, decided))
    },
  )
}

/**
 * Counts the try, and audits a wrong one: codes are short, so guesses are bounded. Of a code that this person has decided, returns the
 * decision: browsers send a form again after a double click.
 */
async function look(
  { clients, deviceCodes, noteRefusal }: OAuth2Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { session, typed }: { session: Session; typed: string },
): Promise<Found | 'approved' | 'denied' | undefined> {
  await request.server.limits.takeShared(reply, `device codes ${session.id}`, perSession)
  const userCode = readUserCode(typed)
  const device = userCode === undefined ? undefined : await deviceCodes.find(userCode)
  const client = device && (await clients.find(device.client_id))
  if (userCode !== undefined && device?.status === 'pending' && client?.deviceGrant)
    return { userCode, device, client }
  const { userId, id, role, impersonatorId } = session
  const decided = decisionOf(device, userId)
  if (decided !== undefined) return decided
  const acting = impersonatorId !== null && { impersonator: { userId: impersonatorId } }
  const principal = { kind: 'session', role, userId, sessionId: id, ...acting } as const
  await noteRefusal(request, { action: 'device.refused', code: 'unknown-code', userId }, principal)
  return undefined
}

/** False when the request was decided before. */
function decide(
  { database, deviceCodes, consents, audit }: OAuth2Services,
  request: FastifyRequest,
  { session, found, wanted }: { session: Session; found: Found; wanted: 'approved' | 'denied' },
): Promise<boolean> {
  const { userId } = session
  const { device, client } = found
  return database.transaction(async (tx) => {
    if (!(await deviceCodes.decide(tx, device, session, wanted))) return false
    if (wanted === 'approved' && !client.firstParty)
      await consents.grant(tx, { userId, clientId: client.id }, device)
    await audit.record(tx, {
      ...auditOrigin(request),
      action: wanted === 'approved' ? 'device.approved' : 'device.denied',
      userId,
      target: `app:${client.id}`,
      detail: { deviceAddress: device.address },
    })
    return true
  })
}

/** Characters of a code with separators. */
const longestTyped = 64

function signInPath(basePath: string, typed?: string): string {
  const query =
    typed === undefined || typed.length > longestTyped
      ? ''
      : `?${new URLSearchParams({ user_code: typed }).toString()}`
  return loginPath(basePath, { return_to: `${basePath}/device${query}` })
}

/** Asks for the code. @param isUnknown whether the last one was not accepted */
function codePage(view: PageView, isUnknown = false): string {
  const { device, common } = view.words
  const message = isUnknown ? `<p class="message" role="alert">${device.unknownCode}</p>\n` : ''
  return narrowPage(
    view,
    device.title,
    `${message}<p>${device.enterCode}</p>
<form action="${view.site.basePath}/device" class="choice">
<label>${device.code} <input type="text" name="user_code" required autofocus maxlength="20" placeholder="WDJB-MJHT" autocomplete="off" autocapitalize="characters" spellcheck="false"></label>
<button class="wide primary">${common.continue}</button>
</form>`,
  )
}

/**
 * Asks whether a device may sign in. Somebody may have sent the link or the code in order to sign in as the person, so the page
 * says who asks and from where, and the person has to compare the code first (RFC 8628, sections 3.3.1 and 5.4).
 * @param asked.notCompared whether the person pressed "Allow" without having compared the code
 */
async function devicePage(
  parts: OAuth2Services,
  reply: FastifyReply,
  { session, found, notCompared = false }: { session: Session; found: Found; notCompared?: boolean },
): Promise<string> {
  const { client, device, userCode } = found
  const view = pageView(reply)
  const { words, site } = view
  const { common } = words
  const texts = words.device
  const shown = code(displayUserCode(userCode))
  const from = escapeHtml(device.address ?? texts.unknownAddress)
  const isHere = device.address === clientIp(reply.request)
  return narrowPage(
    view,
    texts.confirmTitle,
    `<p>${fill(common.signedInAs, { name: strong(await personOf(parts, session)) })}</p>
<div class="card"><p>${fill(texts.wants, { app: strong(client.name) })}</p>
${rightsList(words, device)}
<dl><dt>${texts.code}</dt><dd>${shown}</dd>
<dt>${texts.device}</dt><dd>${escapeHtml(deviceText(texts, device.user_agent))}</dd>
<dt>${texts.address}</dt><dd>${isHere ? from : fill(texts.otherAddress, { address: from })}</dd></dl>
</div>
<p class="soft">${texts.stays}</p>
<p class="message">${sentences(view.language, `<strong>${texts.cautionTitle}</strong>`, texts.caution)}</p>
<form method="post" action="${site.basePath}/device" class="choice">
${hiddenFields({ user_code: userCode })}
${notCompared ? `<p class="message" role="alert">${texts.notCompared}</p>` : ''}
<label class="tick"><input type="checkbox" name="compared" value="yes"> <span>${fill(texts.started, { code: shown })}</span></label>
<button class="wide primary" name="decision" value="allow">${common.allow}</button>
<button class="wide" name="decision" value="deny">${common.deny}</button>
</form>`,
  )
}

function deviceText(texts: Words['device'], userAgent: string | null): string {
  const { browser, system } = describeDevice(userAgent)
  if (browser !== undefined && system !== undefined) return fill(texts.browserOn, { browser, system })
  return browser ?? (system === undefined ? texts.unknownDevice : fill(texts.someBrowserOn, { system }))
}

/** The page after a decision, or for a code that is not accepted. */
function endPage(reply: FastifyReply, decision: 'approved' | 'denied' | undefined): string {
  const view = pageView(reply)
  if (decision === undefined) {
    void reply.code(400)
    return codePage(view, true)
  }
  const { doneTitle, done, deniedTitle, denied } = view.words.device
  return decision === 'approved'
    ? narrowPage(view, doneTitle, `<p>${done}</p>`)
    : narrowPage(view, deniedTitle, `<p>${denied}</p>`)
}

const DeviceBody = Type.Object({
  ...clientCredentials,
  scope: optionalText('The scopes that the device asks for'),
  resource: optionalText('The API of the access token (RFC 8707)'),
})

const DeviceAnswer = Type.Object({
  device_code: Type.String(),
  user_code: Type.String({ description: 'For the person, such as WDJB-MJHT' }),
  verification_uri: Type.String({ description: 'Where the person types it' }),
  verification_uri_complete: Type.String({ description: 'The same with the code, for a QR code' }),
  expires_in: Type.Integer({ description: 'Seconds' }),
  interval: Type.Integer({ description: 'Seconds between two polls at least' }),
})

/** POST /oauth2/device_authorization: a device asks for a sign-in (RFC 8628, section 3.1). */
export async function deviceAuthorizationRoute(
  app: App,
  { authentication, deviceCodes, baseUrl }: OAuth2Services,
): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/oauth2/device_authorization',
      {
        config: { access: 'public', rateLimit: { max: 60, sharedByProcesses: true } },
        ...clientCall('Start a device sign-in (RFC 8628)', DeviceBody, DeviceAnswer),
      },
      async (request, reply) => {
        const { body } = request
        const client = await authentication.authenticate(request, reply, body)
        if (!client.deviceGrant)
          throw new OAuthError('unauthorized_client', 'this app may not use the device grant')
        const { deviceCode, userCode } = await deviceCodes.start({
          client_id: client.id,
          scope: scopeOf(client, body.scope),
          resource: resourceOf(client, body.resource?.split(' ') ?? []),
          origin: auditOrigin(request),
        })
        const shown = displayUserCode(userCode)
        const page = `${baseUrl().replace(/(?<!\/)\/+$/, '')}/device`
        return {
          device_code: deviceCode,
          user_code: shown,
          verification_uri: page,
          verification_uri_complete: `${page}?user_code=${shown}`,
          expires_in: codeLifetime,
          interval: pollInterval,
        }
      },
    )
  })
}
