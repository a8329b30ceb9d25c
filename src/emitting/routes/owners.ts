import { type Static, Type } from 'typebox'
import { type App, route } from '../../http/app.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { ownerPattern } from '../events/event.ts'
import { type OwnerBrand, OwnerView, type Owners } from '../subscribers/owners.ts'
import { Metadata } from '../subscribers/metadata.ts'
import { type EmittingRouteParts, searchable } from './area.ts'
import { closedObject, noContent, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { brandVariables } from '../../http/pages/brand.ts'

/** No control characters, and nothing that the databases cannot store. */
const printable = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$'
/** Characters. It is part of the answer that opens the portal. */
const longestLogo = 90_000

const Name = Type.String({ minLength: 1, maxLength: 60, pattern: printable })
const Color = Type.String({ pattern: '^#[0-9a-fA-F]{6}$' })
const Logo = Type.String({
  maxLength: longestLogo,
  // Shown as an image only, so that an SVG cannot run a script.
  pattern: '^data:image/(svg\\+xml|png|webp|jpeg);base64,[A-Za-z0-9+/]+={0,2}$',
})

const tags = ['owners']
const params = Type.Object({ owner: Type.String({ pattern: ownerPattern }) })
const fields = {
  name: nullable(Name, 'In place of BRAND_NAME'),
  color: nullable(Color, 'In place of BRAND_COLOR, as `#rrggbb`'),
  logo: nullable(
    Logo,
    `In place of BRAND_LOGO: SVG, PNG, WebP or JPEG as a \`data:\` URI in base64, ${longestLogo} characters at most`,
  ),
}
const BrandView = closedObject(fields, { description: 'Null: as the settings say' })
const BrandChange = Type.Partial(Type.Object(fields), { additionalProperties: false })

/** The brand as the page of the portal needs it. */
export const PortalBrandView = closedObject({
  name: nullable(Type.String(), 'Null: as the settings say'),
  logo: nullable(Type.String(), 'A `data:` URI; null: as the settings say'),
  variables: nullable(
    Type.Record(Type.String(), Type.String()),
    'The colour for both themes, as CSS custom properties; null: as the settings say',
  ),
})

export function portalBrand({ name, logo, color }: OwnerBrand): Static<typeof PortalBrandView> {
  return { name, logo, variables: color === null ? null : brandVariables(color) }
}

/** `/owners/{owner}/brand`: name, colour and logo of one owner's portal. */
export function brandRoutes(app: App, { brands }: EmittingRouteParts): void {
  app.get(
    '/owners/:owner/brand',
    route({ scope: 'subscribers:read' }, tags, "The brand of an owner's portal", {
      params,
      response: { 200: BrandView },
    }),
    async ({ params: { owner } }, reply) => reply.send(await brands.get(owner)),
  )
  app.patch(
    '/owners/:owner/brand',
    route({ scope: 'subscribers:write' }, tags, "Change the brand of an owner's portal", {
      description: 'Absent fields stay. A field with null is as the settings say again.',
      params,
      body: BrandChange,
      response: { 200: BrandView },
    }),
    async (request, reply) =>
      reply.send(await brands.change(request.params.owner, request.body, auditOrigin(request))),
  )
}

/** The display name of a customer. */
export const DisplayName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: printable,
  description: 'The display name of the customer',
})
const access = { scope: 'subscribers:read' } as const

export function ownerRoutes(app: App, { owners }: EmittingRouteParts): void {
  app.get(
    '/owners',
    route(access, tags, 'Owners, ordered by id', {
      querystring: Type.Object({
        q: optionalText('A part of the owner or of the display name; upper and lower case are equal'),
        ...pageParameters(),
      }),
      response: { 200: pageSchema(OwnerView) },
    }),
    async ({ query }) => {
      const text = query.q ? searchable(query.q) : undefined
      return viewPage(await owners.list(text, readPageRequest(query)), (owner) => owner)
    },
  )
  app.get(
    '/owners/:owner',
    route(access, tags, "One owner with subscriber states, the last day's deliveries and portal access", {
      params: Type.Object({ owner: Type.String() }),
      response: { 200: OwnerView },
    }),
    async ({ params }) => owners.get(params.owner),
  )
  ownerChangeRoutes(app, owners)
}

function ownerChangeRoutes(app: App, owners: Owners): void {
  app.put(
    '/owners/:owner',
    route({ scope: 'subscribers:write' }, tags, "Set or remove an owner's display name and metadata", {
      description:
        'Pages and the portal show the name in place of `owner`. The owner is listed even before it has a subscriber. Without `metadata`, the stored metadata stays.',
      params,
      body: closedObject({ name: nullable(DisplayName), metadata: Type.Optional(nullable(Metadata)) }),
      response: {
        200: closedObject({ owner: Type.String(), name: nullable(Type.String()), metadata: Metadata }),
      },
    }),
    async (request, reply) => {
      const { params, body } = request
      const { owner, name, metadata } = await owners.directory.change(
        params.owner,
        body,
        auditOrigin(request),
      )
      return reply.send({ owner, name, metadata })
    },
  )
  app.delete(
    '/owners/:owner',
    route(
      { scope: 'subscribers:write' },
      tags,
      'Remove an owner with its subscribers and its portal access',
      { params, response: noContent },
    ),
    async (request, reply) => {
      await owners.remove(request.params.owner, auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}
