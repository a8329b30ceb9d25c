import type { FastifyRequest } from 'fastify'
import type { Access } from '../../http/principal.ts'
import type { Reach } from '../audience.ts'
import {
  NewSubscriberBody,
  SubscriberChangeBody,
  type OwnNewSubscriberBody,
  type OwnSubscriberChangeBody,
} from '../subscriber-body.ts'

/** The same calls are there for admins, who reach all subscribers, and for owners, who reach their own. */
export interface Area {
  /** What the paths begin with. */
  prefix: string
  /** Of calls that only read, and of all others. */
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
