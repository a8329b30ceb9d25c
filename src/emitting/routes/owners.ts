import { Type, type Static } from 'typebox'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { deliveryStatuses } from '../deliveries/delivery-filter.ts'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { ownerPattern } from '../events/audience.ts'
import { printable } from './brand.ts'
import type { Owner, Owners } from '../subscribers/owners.ts'
import type { SubscriberState } from '../subscribers/subscriber-state.ts'
import { closedObject, DateTime, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'

export interface OwnerRouteParts {
  owners: Owners
}

const closed = { additionalProperties: false }
/** The display name of a customer. */
export const DisplayName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: printable,
  description: 'The display name of the customer',
})
const access = { scope: 'subscribers:read' } as const
const tags = ['owners']
const OwnerView = closedObject({
  owner: Type.String(),
  name: nullable(Type.String({ description: 'The display name; null without one' })),
  subscribers: Type.Integer(),
  states: Type.Object(
    {
      active: Type.Integer(),
      idle: Type.Integer(),
      failing: Type.Integer(),
      paused: Type.Integer(),
      disabled: Type.Integer(),
    } satisfies Record<SubscriberState, unknown>,
    { ...closed, description: 'The number of subscribers by their state' },
  ),
  delivered: Type.Integer({ description: 'Attempts of the last day that succeeded' }),
  failed: Type.Integer({ description: 'Attempts of the last day that failed' }),
  successRate: nullable(Type.Number({ description: 'Of the last day, 0 to 1; null without attempts' })),
  lastDelivery: nullable(
    closedObject({ id: Type.Integer(), status: Type.Enum(deliveryStatuses), createdAt: DateTime }),
  ),
  linkExpiresAt: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the last unopened link to the portal expires; null if no link is open',
    }),
  ),
  sessionExpiresAt: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the last session of the portal ends; null if no session is live',
    }),
  ),
})

/** The customers of the product. */
export function ownerRoutes(app: App, { owners }: OwnerRouteParts): void {
  app.get(
    '/owners',
    {
      config: { access },
      schema: {
        tags,
        summary: 'Owners with subscribers or a display name',
        querystring: Type.Object({
          q: optionalText('A part of the owner or of the display name; upper and lower case are equal'),
          ...pageParameters(),
        }),
        response: { 200: pageSchema(OwnerView) },
      },
    },
    async ({ query }) => {
      const text = query.q ? searchable(query.q) : undefined
      return viewPage(await owners.list(text, readPageRequest(query)), view)
    },
  )
  app.get(
    '/owners/:owner',
    {
      config: { access },
      schema: {
        tags,
        summary: "One owner with subscriber states, the last day's deliveries and portal access",
        params: Type.Object({ owner: Type.String() }),
        response: { 200: OwnerView },
      },
    },
    async ({ params }) => view(await owners.get(params.owner)),
  )
  app.put(
    '/owners/:owner',
    {
      config: { access: { scope: 'subscribers:write' } },
      schema: {
        tags,
        summary: "Set or remove an owner's display name",
        description:
          'Pages and the portal show it in place of `owner`. An owner with a name is listed before it has a subscriber.',
        params: Type.Object({ owner: Type.String({ pattern: ownerPattern }) }),
        body: closedObject({ name: nullable(DisplayName) }),
        response: { 200: closedObject({ owner: Type.String(), name: nullable(Type.String()) }) },
      },
    },
    async (request, reply) => {
      const { owner } = request.params
      const { name } = request.body
      await owners.names.set(owner, name, auditOrigin(request))
      return reply.send({ owner, name })
    },
  )
}

/** PostgreSQL refuses a NUL in a parameter. No owner contains one, so another character finds the same. */
function searchable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}')
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
