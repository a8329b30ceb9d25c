import { defineConfig, stripe } from 'postern'
import { lists } from './lists.ts'
import { recordOrder } from './orders.ts'

export default defineConfig({
  receiving: {
    sources: { stripe: stripe({ secret: process.env['STRIPE_WEBHOOK_SECRET'] ?? '' }) },
    handlers: {
      'checkout.session.completed': recordOrder,
      'checkout.session.async_payment_succeeded': recordOrder,
    },
  },
  listing: { lists },
  emitting: {
    eventTypes: {
      'order.paid': {
        description: 'An order was paid. The amount is in the smallest unit of the currency.',
        samples: [{ order: 'cs_1', amount: 4200, currency: 'eur' }],
      },
    },
    undeclaredTypes: 'refuse',
  },
  login: { sameAddress: 'offer' },
})
