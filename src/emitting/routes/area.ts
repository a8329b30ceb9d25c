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
  access: Access
  reach: (request: FastifyRequest) => Reach
  newSubscriber: typeof NewSubscriberBody | typeof OwnNewSubscriberBody
  subscriberChange: typeof SubscriberChangeBody | typeof OwnSubscriberChangeBody
}

export const adminArea: Area = {
  prefix: '',
  access: 'admin',
  reach: () => 'all',
  newSubscriber: NewSubscriberBody,
  subscriberChange: SubscriberChangeBody,
}
