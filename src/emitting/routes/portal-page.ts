import { Type } from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { builtPage } from '../../http/pages/built-pages.ts'
import { framedBy } from '../../http/responses/security-headers.ts'
import { portalBrand } from './brand.ts'
import { findSession } from './portal-sessions.ts'
import type { HostCookie } from '../../http/responses/host-cookie.ts'
import type { Portal } from '../portal.ts'
import type { OwnerBrands } from '../subscribers/owner-brands.ts'

export interface PortalPageParts {
  portal: Portal
  brands: OwnerBrands
  portalCookie: HostCookie
  /** The origins whose pages may show the portal in a frame: `PORTAL_FRAME_ORIGINS`. */
  frameOrigins: readonly string[]
}

/** `GET /portal`, with the brand of the owner who is signed in, so that it looks right from the first paint. */
export function portalPageRoute(
  app: App,
  { portal, brands, portalCookie, frameOrigins }: PortalPageParts,
): void {
  const { basePath, site } = app
  const brand = { name: site.plainName, logo: site.logo }
  const built = builtPage(site, 'portal.html', { branded: true })
  const page = built.render({ basePath, brand })
  const headers = framedBy(frameOrigins)
  /** In a frame, the cookie may be that of another owner than the one whose link the frame opens. */
  const isInFrame = ({ headers: { 'sec-fetch-dest': dest } }: FastifyRequest): boolean =>
    dest !== undefined && dest !== 'document'
  const pageFor = async (request: FastifyRequest): Promise<string> => {
    const session = isInFrame(request) ? undefined : await findSession(request, portal, portalCookie)
    if (!session) return page
    return built.render({ basePath, brand, ownerBrand: portalBrand(await brands.get(session.owner)) })
  }
  app.get(
    '/portal',
    {
      config: { access: 'public', sends: { always: ['Cache-Control'] } },
      schema: {
        tags: ['pages'],
        summary: 'The page of the portal; a link opens it',
        response: { 200: { description: 'The page', content: { 'text/html': { schema: Type.String() } } } },
      },
    },
    async (request, reply) =>
      reply
        .headers(headers)
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(await pageFor(request)),
  )
}
