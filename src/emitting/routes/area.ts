import type { FastifyRequest } from 'fastify'
import type { NoteRefusal } from '../../accounts/refusals.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { Access } from '../../http/access/principal.ts'
import type { HostCookie } from '../../http/responses/host-cookie.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import type { Cursors } from '../../paging/cursor.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Jobs } from '../deliveries/jobs.ts'
import type { PayloadRemoval } from '../events/payload-removal.ts'
import type { Replay } from '../deliveries/replay.ts'
import type { DisablingPolicy } from '../dispatch/operational-events.ts'
import type { Announce, Emitter } from '../events/emitter.ts'
import type { ScheduledEvents } from '../events/scheduled-events.ts'
import type { EventCatalogue } from '../events/event-catalogue.ts'
import type { StoredEventTypes } from '../events/stored-event-types.ts'
import type { TestEvents } from '../events/built-in-types.ts'
import type { Portal } from '../portal.ts'
import type { Health } from '../subscribers/health.ts'
import type { OwnerBrands, Owners } from '../subscribers/owners.ts'
import type { SubscriberSecrets } from '../subscribers/secrets.ts'
import type { Reach } from '../events/event.ts'
import {
  NewSubscriberBody,
  type OwnNewSubscriberBody,
  type OwnSubscriberChangeBody,
  SubscriberChangeBody,
} from '../subscribers/subscriber-body.ts'
import type { Destinations } from '../subscribers/destinations.ts'
import type { Sandbox } from '../transformations/sandbox.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'

/** What the routes of this module use. */
export interface EmittingRouteParts extends ModuleParts {
  subscribers: Subscribers
  sandbox: Sandbox
  destinations: Destinations
  secrets: SubscriberSecrets
  emitter: Emitter
  scheduledEvents: ScheduledEvents
  payloadRemoval: PayloadRemoval
  announce: Announce
  catalogue: EventCatalogue
  storedEventTypes: StoredEventTypes
  testEvents: TestEvents
  deliveryLog: DeliveryLog
  replay: Replay
  jobs: Jobs
  health: Health
  disabling: DisablingPolicy
  owners: Owners
  brands: OwnerBrands
  portal: Portal
  portalCookie: HostCookie
  noteRefusal: NoteRefusal
  cursors: Cursors
}

/** Admins (all subscribers) and owners (their own subscribers) have the same routes in two areas. */
export interface Area {
  /** The prefix of the paths. */
  prefix: string
  /** For routes that only read, and for all others. */
  access: { read: Access; write: Access }
  reach: (request: FastifyRequest) => Reach
  /** Whether `reach` is `all`. */
  reachesAll: boolean
  newSubscriber: typeof NewSubscriberBody | typeof OwnNewSubscriberBody
  subscriberChange: typeof SubscriberChangeBody | typeof OwnSubscriberChangeBody
}

export const adminArea: Area = {
  prefix: '',
  access: { read: { scope: 'subscribers:read' }, write: { scope: 'subscribers:write' } },
  reach: () => 'all',
  reachesAll: true,
  newSubscriber: NewSubscriberBody,
  subscriberChange: SubscriberChangeBody,
}

/** @throws Problem `not-found` if the text does not have the form of an id */
export function readSubscriberId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no endpoint with this ID.' })
  return text
}

/** The subscriber that the path of a request names. @throws Problem `not-found`, also outside the caller's reach */
export function subscriberOf(
  subscribers: Subscribers,
  { reach }: Area,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<SubscribersTable> {
  return subscribers.get(readSubscriberId(request.params.id), reach(request))
}
