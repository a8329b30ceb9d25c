import type { EventTypeDeclaration } from './config.ts'
import { testEventType } from './test-events.ts'

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
  error: 'answered 503',
}

/** What the service sends by itself, as the catalogue tells it. All but the test events go to operational subscribers. */
export const builtInTypes = {
  [testEventType]: {
    description:
      'Sent on request to one subscriber, to show that it is reached and that its signatures verify.',
    samples: [{ message: 'A test event: if its signature verifies, everything is set up.' }],
  },
  'subscriber.disabled': {
    description:
      'A subscriber was disabled: by a call, by its owner, because it asked for it (410 Gone or `webhook-delivery: disable`), or because everything failed for a week (EMIT_DISABLE_AFTER_DAYS).',
    samples: [{ subscriber, reason: 'The subscriber answered 410 Gone.' }],
  },
  'subscriber.disabling': {
    description: 'A subscriber will be disabled, unless a delivery arrives before.',
    samples: [
      {
        subscriber,
        failingSince: '2026-03-01T09:00:00.000Z',
        disablesAt: '2026-03-08T09:00:00.000Z',
        delivery,
      },
    ],
  },
  'delivery.failing': {
    description:
      'A delivery failed for the third time. Told once for a subscriber, until a delivery to it arrives again.',
    samples: [{ subscriber, delivery }],
  },
  'delivery.recovered': {
    description: 'A delivery arrived at a subscriber that `delivery.failing` was told of.',
    samples: [{ subscriber, delivery: { ...delivery, attempts: 4, status: 204, error: null } }],
  },
  'delivery.dead': {
    description: 'A delivery was given up after its last attempt. It is kept, and can be replayed.',
    samples: [{ subscriber, delivery: { ...delivery, attempts: 10 } }],
  },
} as const satisfies Record<string, EventTypeDeclaration>
