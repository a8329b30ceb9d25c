import type { EventTypeDeclaration } from '../config.ts'
import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { Tx } from '../../storage/database.ts'
import { takeAllowance } from '../deliveries/allowances.ts'
import type { Reach, NewEvent } from './event.ts'
import type { Emitted, Emitter } from './emitter.ts'
import { subscriberDisabled } from '../subscribers/subscriber-rules.ts'
import { subscriberTarget } from '../subscribers/subscriber-audit.ts'
import type { Subscribers } from '../subscribers/subscribers.ts'
import type { ModuleParts } from '../../http/service-module.ts'

const testEventType = 'postern.test'
const testMessage = 'A test event: if its signature verifies, everything is set up.'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const count = { type: 'integer', minimum: 1 }

/** An object with exactly these properties. */
const exactly = (properties: Record<string, object>): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
  additionalProperties: false,
})

const subscriberSchema = exactly({ id: text, url: text, owner: { type: ['string', 'null'] } })
const deliverySchema = exactly({
  id: count,
  event: count,
  eventId: text,
  eventType: text,
  attempts: count,
  status: { type: ['integer', 'null'] },
  error: { type: ['string', 'null'] },
})
const aboutDelivery = exactly({ subscriber: subscriberSchema, delivery: deliverySchema })

const subscriber = {
  id: '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e',
  url: 'https://shop.example.com/hooks',
  owner: 'acme',
}
const delivery = {
  id: 17,
  event: 42,
  eventId: 'order-1-shipped',
  eventType: 'order.shipped',
  attempts: 3,
  status: 503,
  error: 'returned HTTP 503',
}

/** The types of events that the service emits itself. All but the test events go to operational subscribers. */
export const builtInTypes = {
  [testEventType]: {
    description:
      'A test event, sent to one endpoint on request. It shows that the endpoint is reachable and verifies signatures.',
    schema: exactly({ message: text, subscriberId: text }),
    samples: [{ message: testMessage, subscriberId: subscriber.id }],
  },
  'subscriber.disabled': {
    description:
      'An endpoint was disabled: by a request, by its customer, by its response (410 Gone or `webhook-delivery: disable`), or because all attempts failed for a week (EMIT_DISABLE_AFTER_DAYS).',
    schema: exactly({ subscriber: subscriberSchema, reason: text }),
    samples: [{ subscriber, reason: 'The endpoint returned HTTP 410 Gone.' }],
  },
  'subscriber.disabling': {
    description: 'An endpoint will be disabled unless a delivery succeeds first.',
    schema: exactly({
      subscriber: subscriberSchema,
      delivery: deliverySchema,
      failingSince: time,
      disablesAt: time,
    }),
    samples: [
      {
        subscriber,
        delivery,
        failingSince: '2026-03-01T09:00:00.000Z',
        disablesAt: '2026-03-08T09:00:00.000Z',
      },
    ],
  },
  'delivery.failing': {
    description:
      'A delivery failed for the third time. Sent once for an endpoint until a delivery to it succeeds again.',
    schema: aboutDelivery,
    samples: [{ subscriber, delivery }],
  },
  'delivery.recovered': {
    description: 'A delivery to a failing endpoint succeeded (after `delivery.failing` or `delivery.dead`).',
    schema: aboutDelivery,
    samples: [{ subscriber, delivery: { ...delivery, attempts: 4, status: 204, error: null } }],
  },
  'delivery.dead': {
    description: 'A delivery failed its last attempt. It is stored and can be replayed.',
    schema: aboutDelivery,
    samples: [{ subscriber, delivery: { ...delivery, attempts: 10 } }],
  },
} as const satisfies Record<string, EventTypeDeclaration>

interface TestEventsParts extends Pick<ModuleParts, 'database' | 'clock'> {
  emitter: Emitter
  subscribers: Subscribers
  record: RecordAudit
}

/** Sends signed test events in the same way as all other events. */
export class TestEvents {
  readonly #parts: TestEventsParts

  constructor(parts: TestEventsParts) {
    this.#parts = parts
  }

  /**
   * Counts a test event against the allowance of a subscriber or its owner, also in the transaction that registers the subscriber.
   * @throws Problem `too-many-requests`
   */
  async reserve(tx: Tx, of: { id: string; owner: string | null }): Promise<void> {
    const { database, clock } = this.#parts
    await takeAllowance(database.engine, tx, { kind: 'test-event', of, now: clock.now() })
  }

  /**
   * @param event sent instead of the usual test event
   * @param reserved whether `reserve` has counted it
   * @throws Problem `not-found`; `conflict` when the subscriber is disabled; `too-many-requests`
   */
  async send(
    subscriberId: string,
    reach: Reach,
    origin: AuditOrigin,
    { event, reserved = false }: { event?: Pick<NewEvent, 'id' | 'type' | 'data'>; reserved?: boolean } = {},
  ): Promise<Pick<Emitted, 'id' | 'eventId'> & { deliveryId: number }> {
    const { database, emitter, subscribers, record } = this.#parts
    const sent = await database.transaction(async (tx) => {
      const { status, owner } = await subscribers.get(subscriberId, reach, tx)
      if (status === 'disabled') throw subscriberDisabled()
      if (!reserved) await this.reserve(tx, { id: subscriberId, owner })
      const sample = event ?? { type: testEventType, data: { message: testMessage, subscriberId } }
      const addressed = { event: { ...sample, audience: owner ?? undefined }, subscriberIds: [subscriberId] }
      const [emitted] = await emitter.emitTo(tx, [addressed])
      const deliveryId = emitted!.committed?.[0]?.delivery.id
      if (deliveryId === undefined) throw new Problem('not-found')
      await record(tx, {
        action: 'subscriber.tested',
        target: subscriberTarget(subscriberId),
        detail: { deliveryId },
        ...origin,
      })
      return { ...emitted!, deliveryId }
    })
    emitter.announce([sent])
    const { id, eventId, deliveryId } = sent
    return { id, eventId, deliveryId }
  }
}
