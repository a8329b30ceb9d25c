import type { FastifyRequest } from 'fastify'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { Access } from '../../http/access/principal.ts'
import type { Row } from '../../storage/tables.ts'
import type { Reach } from '../events/event.ts'
import {
  NewSubscriberBody,
  type OwnNewSubscriberBody,
  type OwnSubscriberChangeBody,
  SubscriberChangeBody,
} from '../subscribers/subscriber-body.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'

export type { EmittingRouteParts } from '../parts.ts'

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
): Promise<Row<'subscribers'>> {
  return subscribers.get(readSubscriberId(request.params.id), reach(request))
}

/** A part of a name or URL to search for. PostgreSQL rejects a NUL in a parameter. No stored text has one, so another character finds the same. */
export function searchable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}')
}
