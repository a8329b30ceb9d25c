import { defineConfig, list, stripe, type FieldOptions } from 'postern'
import { recordOrder } from './orders.ts'

const orderFields = {
  id: { type: 'text' },
  amount: { type: 'integer' },
  currency: { type: 'text' },
  paidAt: { type: 'milliseconds', column: 'paid_at' },
  customer: { type: 'text' },
} as const satisfies Record<string, FieldOptions>

export default defineConfig({
  receiving: {
    sources: { stripe: stripe({ secret: process.env['STRIPE_WEBHOOK_SECRET'] ?? '' }) },
    handlers: {
      'checkout.session.completed': recordOrder,
      'checkout.session.async_payment_succeeded': recordOrder,
    },
  },
  listing: {
    lists: [
      // For the shop's own people: administrators, and API keys with the scope lists:read.
      list({
        path: '/orders',
        table: 'orders',
        fields: orderFields,
        key: 'id',
        order: ['-paidAt'],
        filters: {
          customer: 'equals',
          minAmount: { kind: 'atLeast', field: 'amount' },
          since: { kind: 'atLeast', field: 'paidAt' },
        },
      }),
      // For customers: their own.
      list({
        path: '/my-orders',
        table: 'orders',
        access: 'user',
        where: (caller) => ({ customer: caller?.userId }),
        fields: { ...orderFields, customer: { type: 'text', hidden: true } },
        key: 'id',
        order: ['-paidAt'],
      }),
    ],
  },
  emitting: {
    eventTypes: {
      'order.paid': {
        description: 'An order was paid. The amount is in the smallest unit of the currency.',
        samples: [{ order: 'cs_1', amount: 4200, currency: 'eur' }],
      },
    },
    undeclaredTypes: 'refuse',
  },
})
