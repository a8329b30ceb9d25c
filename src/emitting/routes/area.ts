import type { FastifyRequest } from 'fastify'
import type { Access } from '../../http/access/principal.ts'
import type { Reach } from '../events/audience.ts'
import {
  NewSubscriberBody,
  SubscriberChangeBody,
  type OwnNewSubscriberBody,
  type OwnSubscriberChangeBody,
} from '../subscribers/subscriber-body.ts'

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
