import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { isForeignWrite } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { ownerPattern, type Reach } from '../events/event.ts'
import type { PortalSession } from '../portal.ts'
import { DisplayName, portalBrand, PortalBrandView } from './owners.ts'
import { OwnNewSubscriberBody, OwnSubscriberChangeBody } from '../subscribers/subscriber-body.ts'
import type { Area, EmittingRouteParts } from './area.ts'
import { closedObject, DateTime, noContent, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { builtPage } from '../../http/pages/built-pages.ts'
import { languageOf, languageTags } from '../../http/pages/language/languages.ts'
import { pageLanguage } from '../../http/pages/page-view.ts'
import { ofPages, framedBy } from '../../http/responses/response-headers.ts'
import type { Authenticate } from '../../http/access/principal.ts'

/** Owners have access to their own subscribers, with the cookie that a link sets. */
export const portalArea: Area = {
  prefix: '/portal',
  access: { read: 'portal', write: 'portal' },
  reach: ownReach,
  reachesAll: false,
  newSubscriber: OwnNewSubscriberBody,
  subscriberChange: OwnSubscriberChangeBody,
}

function ownReach({ principal }: FastifyRequest): Reach {
  const owner = principal?.kind === 'portal' ? principal.owner : undefined
  if (owner === undefined) throw new Error('a portal route was called without an owner')
  return { owner }
}

const tags = ['portal']
/** Seconds. */
const [linkLasts, longestLink] = [300, 86_400]
const [sessionLasts, longestSession] = [3_600, 86_400]

const LinkBody = closedObject({
  owner: Type.String({
    pattern: ownerPattern,
    description: 'The owner of the subscribers that the pages show',
  }),
  name: Type.Optional(DisplayName),
  expiresIn: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: longestLink,
      description: `Seconds for which the link can be opened, once; default ${linkLasts}`,
    }),
  ),
  sessionSeconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: longestSession,
      description: `Seconds for which the session is valid; default ${sessionLasts}`,
    }),
  ),
})
const LinkView = closedObject({ url: Type.String(), expiresAt: DateTime })
const SessionView = closedObject({
  owner: Type.String(),
  name: nullable(Type.String({ description: 'The display name of the owner' })),
  expiresAt: DateTime,
  brand: PortalBrandView,
})
const OpenedView = closedObject({
  ...SessionView.properties,
  accessToken: optionalText('With `embedded`: authenticates the calls of the portal as a bearer token'),
})

/** Links to the portal, its page and its session. `portalArea` has its other calls. */
export function portalRoutes(app: App, parts: EmittingRouteParts): void {
  linkRoutes(app, parts)
  portalPageRoute(app, parts)
  openSessionRoute(app, parts)
  sessionRoutes(app, parts)
}

function linkRoutes(app: App, { portal, baseUrl }: EmittingRouteParts): void {
  app.post(
    '/portal-links',
    route(
      { scope: 'subscribers:write' },
      tags,
      "Create a link to an owner's portal",
      {
        description:
          'The token is in the fragment of the URL, which browsers do not send: no log contains it, and link previews do not use it up.',
        body: LinkBody,
        response: { 201: LinkView },
      },
      { sends: { always: ['Cache-Control'] } },
    ),
    async (request, reply) => {
      const { owner, name, expiresIn = linkLasts, sessionSeconds = sessionLasts } = request.body
      const origin = auditOrigin(request)
      const lasts = { link: expiresIn * 1000, session: sessionSeconds * 1000 }
      const link = await portal.createLink({ owner, name }, lasts, origin)
      reply.header('cache-control', 'no-store')
      return reply
        .code(201)
        .send({ url: `${baseUrl()}/portal#${link.token}`, expiresAt: isoTime(link.expiresAt) })
    },
  )
  app.delete(
    '/portal-links',
    route({ scope: 'subscribers:write' }, tags, 'End all portal links and sessions of an owner', {
      querystring: Type.Object({ owner: Type.String({ pattern: ownerPattern }) }),
      response: noContent,
    }),
    async (request, reply) => {
      const { owner } = request.query as { owner?: string }
      if (!owner || !new RegExp(ownerPattern).test(owner))
        throw new Problem('invalid-parameter', { parameter: 'owner', detail: '`owner` must name an owner.' })
      await portal.revoke(owner, auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function openSessionRoute(app: App, parts: EmittingRouteParts): void {
  const { portal, portalCookie, baseUrl, noteRefusal, configuration } = parts
  app.post(
    '/portal/session',
    {
      config: {
        access: 'public',
        rateLimit: { max: 60, sharedByProcesses: true },
        sends: { always: ['Cache-Control'], sometimes: ['Set-Cookie'] },
      },
      // Another site must not be able to sign a browser in to the portal of another owner.
      onRequest: async (request) => {
        if (isForeignWrite(request, baseUrl())) throw new Problem('foreign-origin')
      },
      schema: {
        tags,
        summary: "Open a single-use link; sets the portal's cookie or returns a token",
        description:
          'The session of the current cookie ends. If it belongs to another owner, the request is rejected with `other-portal-session` and the link stays valid, unless `replace` is true. With `embedded`, cookies are neither read nor set.',
        body: closedObject({
          token: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
          replace: Type.Optional(
            Type.Boolean({ description: 'Whether to end a session of another owner; ask the user first' }),
          ),
          embedded: Type.Optional(
            Type.Boolean({
              description:
                'For the page in a frame, where browsers may block cookies: the answer has an `accessToken`. Only where `PORTAL_FRAME_ORIGINS` is set.',
            }),
          ),
        }),
        response: { 200: OpenedView },
      },
    },
    async (request, reply) => {
      const { token: link, replace = false, embedded = false } = request.body
      if (embedded && configuration.portalFrameOrigins.length === 0)
        throw new Problem('forbidden', {
          detail: 'The portal may not be embedded here: `PORTAL_FRAME_ORIGINS` is not set.',
        })
      // What another tab has open stays open beside a frame.
      const before = embedded ? undefined : await findSession(request, parts)
      const opening = portal.open(link, auditOrigin(request), { before, replace, embedded })
      const { token, session, lasts } = await opening.catch(async (error: unknown) => {
        if (error instanceof Problem && error.code === 'not-signed-in')
          await noteRefusal(request, { action: 'portal.link_refused', code: 'unknown-or-expired-link' })
        throw error
      })
      reply.header('cache-control', 'no-store')
      const view = await viewSession(session, parts)
      if (embedded) return { ...view, accessToken: token }
      portalCookie.set(reply, token, Math.ceil(lasts / 1000))
      return view
    },
  )
}

function sessionRoutes(app: App, parts: EmittingRouteParts): void {
  const { portal, portalCookie } = parts
  app.get(
    '/portal/session',
    route('portal', tags, "The session's owner, expiry and brand", { response: { 200: SessionView } }),
    async (request, reply) => reply.send(await viewSession(await sessionOf(request, parts), parts)),
  )
  app.delete(
    '/portal/session',
    route(
      'portal',
      tags,
      'Sign out of the portal',
      { response: noContent },
      { sends: { sometimes: ['Set-Cookie'] } },
    ),
    async (request, reply) => {
      await portal.end(await sessionOf(request, parts), auditOrigin(request))
      if (tokenOf(request, frameToken) === undefined) portalCookie.clear(reply)
      return reply.code(204).send(null)
    },
  )
}

async function viewSession({ owner, expires_at }: PortalSession, { brands, owners }: EmittingRouteParts) {
  const brand = portalBrand(await brands.get(owner))
  const name = (await owners.directory.get(owner))?.name ?? null
  return { owner, name, expiresAt: isoTime(expires_at), brand }
}

/** `GET /portal`, with the brand of the owner who is signed in, so that it looks right from the first paint. */
function portalPageRoute(app: App, parts: EmittingRouteParts): void {
  const { brands, configuration } = parts
  const { basePath, site } = app
  const brand = { name: site.plainName, logo: site.logo }
  const pages = new Map(
    languageTags.map((tag) => {
      const code = tag.slice(0, 2)
      const preload = `src/portal/language/${code}.ts`
      const language = languageOf(code)
      return [tag, builtPage(site, 'portal.html', { branded: true, language, preload })]
    }),
  )
  app.get(
    '/portal',
    route(
      'public',
      ['pages'],
      'The portal page, which a link opens',
      { response: { 200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } } } },
      { sends: { always: ['Cache-Control', ...ofPages] } },
    ),
    async (request, reply) => {
      const page = pages.get(pageLanguage(reply).tag)!
      // In a frame, the cookie may be that of another owner than the one whose link the frame opens.
      const isInFrame = (request.headers['sec-fetch-dest'] ?? 'document') !== 'document'
      const session = isInFrame ? undefined : await findSession(request, parts)
      const ownerBrand = session && portalBrand(await brands.get(session.owner))
      return reply
        .headers(framedBy(configuration.portalFrameOrigins))
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(page.render({ basePath, brand, ownerBrand }))
    },
  )
}

/**
 * Authenticates requests to the portal by its cookie or by a frame's token: no API key and no other session is valid there. Requests to
 * the Svix-compatible API are authenticated by an owner's token, or elsewhere if they have none.
 */
export function authenticatePortal(parts: SessionParts): Authenticate {
  return async (request) => {
    const isOfPortal = request.routeOptions.config.access === 'portal'
    const token = isOfPortal ? portalToken(request, parts) : tokenOf(request, applicationToken)
    const session = token === undefined ? undefined : await parts.portal.find(token)
    if (token !== undefined && !isOfPortal && !session) throw new Problem('not-signed-in')
    return session && { kind: 'portal', role: 'user', owner: session.owner, sessionId: session.id }
  }
}

type SessionParts = Pick<EmittingRouteParts, 'portal' | 'portalCookie'>

const frameToken = /^Bearer (pt_[\w-]{1,100})$/i
const applicationToken = /^Bearer (appsk_[\w-]{1,100})$/i

function tokenOf({ headers }: FastifyRequest, form: RegExp): string | undefined {
  return form.exec(headers.authorization ?? '')?.[1]
}

/** A request with a frame's token never falls back to the cookie, which may be that of another owner. */
function portalToken(request: FastifyRequest, { portalCookie }: SessionParts): string | undefined {
  return tokenOf(request, frameToken) ?? portalCookie.read(request)
}

/** The session of a frame's token, or of the cookie. */
async function findSession(request: FastifyRequest, parts: SessionParts): Promise<PortalSession | undefined> {
  const token = portalToken(request, parts)
  return token === undefined ? undefined : parts.portal.find(token)
}

/** @throws Problem `not-signed-in` */
async function sessionOf(request: FastifyRequest, parts: SessionParts): Promise<PortalSession> {
  const session = await findSession(request, parts)
  if (!session) throw new Problem('not-signed-in')
  return session
}
