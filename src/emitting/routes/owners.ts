import { type Static, Type } from 'typebox'
import { type App, route } from '../../http/app.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { deliveryStatuses } from '../deliveries/delivery-log.ts'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { ownerPattern } from '../events/event.ts'
import type { Owner, OwnerBrand, Owners } from '../subscribers/owners.ts'
import { Metadata } from '../subscribers/metadata.ts'
import { type EmittingRouteParts, searchable } from './area.ts'
import type { SubscriberState } from '../subscribers/health.ts'
import {
  closedObject,
  DateTime,
  dateTime,
  noContent,
  nullable,
  optionalText,
} from '../../http/schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'
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
const OwnerView = closedObject({
  owner: Type.String(),
  name: nullable(Type.String({ description: 'The display name; null without one' })),
  uid: nullable(
    Type.String({
      description: 'The id that API clients use for the customer: `owner`, unless a client chose another',
    }),
  ),
  metadata: Metadata,
  subscribers: Type.Integer(),
  states: Type.Object(
    {
      active: Type.Integer(),
      idle: Type.Integer(),
      failing: Type.Integer(),
      paused: Type.Integer(),
      disabled: Type.Integer(),
    } satisfies Record<SubscriberState, unknown>,
    { additionalProperties: false, description: 'The number of subscribers by their state' },
  ),
  delivered: Type.Integer({ description: 'Attempts of the last day that succeeded' }),
  failed: Type.Integer({ description: 'Attempts of the last day that failed' }),
  successRate: nullable(Type.Number({ description: 'Of the last day, 0 to 1; null without attempts' })),
  lastDelivery: nullable(
    closedObject({ id: Type.Integer(), status: Type.Enum(deliveryStatuses), createdAt: DateTime }),
  ),
  linkExpiresAt: nullable(
    dateTime('When the last unopened link to the portal expires; null if no link is open'),
  ),
  sessionExpiresAt: nullable(
    dateTime('When the last session of the portal ends; null if no session is live'),
  ),
})

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
      return viewPage(await owners.list(text, readPageRequest(query)), view)
    },
  )
  app.get(
    '/owners/:owner',
    route(access, tags, "One owner with subscriber states, the last day's deliveries and portal access", {
      params: Type.Object({ owner: Type.String() }),
      response: { 200: OwnerView },
    }),
    async ({ params }) => view(await owners.get(params.owner)),
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

function view({ lastDelivery, linkExpiresAt, sessionExpiresAt, ...counts }: Owner): Static<typeof OwnerView> {
  const attempts = counts.delivered + counts.failed
  return {
    ...counts,
    successRate: attempts === 0 ? null : counts.delivered / attempts,
    lastDelivery: lastDelivery && { ...lastDelivery, createdAt: isoTimeOrNull(lastDelivery.createdAt)! },
    linkExpiresAt: isoTimeOrNull(linkExpiresAt),
    sessionExpiresAt: isoTimeOrNull(sessionExpiresAt),
  }
}
