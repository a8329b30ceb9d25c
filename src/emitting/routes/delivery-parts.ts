import { Type } from 'typebox'
import { deliveryStatuses } from '../deliveries/delivery-filter.ts'
import { Problem } from '../../errors.ts'
import type { AttemptsTable } from '../../storage/tables.ts'
import type { DeliveryDetail, DeliveryLog } from '../deliveries/delivery-log.ts'
import type { Replay } from '../deliveries/replay.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import { AttemptView } from '../views/attempt.ts'
import { OwnedDeliveryView } from '../views/delivery.ts'
import { closedObject, optionalText } from '../../http/schemas/schemas.ts'

export interface DeliveryRouteParts {
  deliveryLog: DeliveryLog
  replay: Replay
  subscribers: Subscribers
  signaturesOf: (detail: DeliveryDetail) => Promise<(attempt: AttemptsTable) => string | null>
}

export const tags = ['deliveries']

export const DetailView = closedObject({
  ...OwnedDeliveryView.properties,
  payload: Type.String({ description: 'The body of each request: its first 64 KiB, as UTF-8' }),
  payloadBytes: Type.Integer({ description: 'The length of the whole body' }),
  attempts: Type.Array(AttemptView, { description: 'The newest hundred' }),
})

/** @throws Problem `not-found` if the text is not a possible id of a delivery */
export function readDeliveryId(text: string): number {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new Problem('not-found', { detail: 'There is no such delivery.' })
  return number
}

export const filters = {
  status: Type.Optional(Type.String({ description: deliveryStatuses.join(', ') })),
  eventType: optionalText('One exact type'),
  since: optionalText('Created at this time or later, ISO 8601'),
  until: optionalText('Created before this time, ISO 8601'),
}
