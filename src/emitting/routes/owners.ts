import { Type, type Static } from 'typebox'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { deliveryStatuses } from '../deliveries/delivery-filter.ts'
import type { Owner, Owners } from '../subscribers/owners.ts'
import type { SubscriberState } from '../subscribers/subscriber-state.ts'
import { closedObject, DateTime, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { isoTimeOrNull } from '../../runtime/iso-time.ts'

export interface OwnerRouteParts {
  owners: Owners
}

const closed = { additionalProperties: false }
const access = { scope: 'subscribers:read' } as const
const tags = ['owners']
const OwnerView = closedObject({
  owner: Type.String(),
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

/** The owners that subscribers name. */
export function ownerRoutes(app: App, { owners }: OwnerRouteParts): void {
  app.get(
    '/owners',
    {
      config: { access },
      schema: {
        tags,
        summary: 'The owners of subscribers, by name',
        querystring: Type.Object({
          q: optionalText('A part of the name; upper and lower case are equal'),
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
        summary: 'One owner with the states of its subscribers, the last day and its access to the portal',
        params: Type.Object({ owner: Type.String() }),
        response: { 200: OwnerView },
      },
    },
    async ({ params }) => view(await owners.get(params.owner)),
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
