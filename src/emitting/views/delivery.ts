import { Type, type Static } from 'typebox'
import { closedObject, DateTime, nullable } from '../../http/schemas/schemas.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { deliveryStatuses } from '../deliveries/delivery-filter.ts'
import type { DeliveryEntry, OwnedEntry } from '../deliveries/delivery-log.ts'

export const DeliveryView = closedObject({
  id: Type.Integer(),
  event: Type.Integer({ description: 'The event’s number in the log: GET /events/{id}' }),
  eventId: Type.String({ description: 'The stable id, sent as webhook-id' }),
  eventType: Type.String(),
  subscriberId: Type.String(),
  status: Type.Enum(deliveryStatuses, { description: 'dead: no further attempt follows' }),
  attemptCount: Type.Integer(),
  lastStatus: nullable(Type.Integer({ description: 'HTTP status of the newest attempt' })),
  lastError: nullable(Type.String()),
  nextAttemptAt: nullable(DateTime),
  createdAt: DateTime,
  finishedAt: nullable(DateTime),
})

export function viewDelivery(entry: DeliveryEntry): Static<typeof DeliveryView> {
  return {
    id: entry.id,
    event: entry.event,
    eventId: entry.event_id,
    eventType: entry.type,
    subscriberId: entry.subscriber_id,
    status: entry.status,
    attemptCount: entry.attempts,
    lastStatus: entry.last_status,
    lastError: entry.last_error,
    nextAttemptAt: entry.status === 'pending' ? isoTime(entry.due_at) : null,
    createdAt: isoTime(entry.created_at),
    finishedAt: isoTimeOrNull(entry.finished_at),
  }
}

export const OwnedDeliveryView = closedObject({
  ...DeliveryView.properties,
  subscriberUrl: Type.String({ description: 'The address of the subscriber now' }),
  owner: nullable(Type.String({ description: 'The owner of the subscriber' })),
  ownerName: nullable(Type.String({ description: 'The display name of the owner' })),
})

export function viewOwnedDelivery(entry: OwnedEntry): Static<typeof OwnedDeliveryView> {
  return { ...viewDelivery(entry), subscriberUrl: entry.url, owner: entry.owner, ownerName: entry.owner_name }
}
