import { list, type FieldOptions } from 'postern'

const orderFields = {
  id: { type: 'text' },
  amount: { type: 'integer' },
  currency: { type: 'text' },
  paidAt: { type: 'milliseconds', column: 'paid_at' },
  customer: { type: 'text' },
} as const satisfies Record<string, FieldOptions>

export const lists = [
  // For the shop's staff: administrators, and API keys with the scope lists:read.
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
  // For customers: their own orders.
  list({
    path: '/my-orders',
    table: 'orders',
    access: 'user',
    where: (caller) => ({ customer: caller.userId }),
    fields: { ...orderFields, customer: { type: 'text', hidden: true } },
    key: 'id',
    order: ['-paidAt'],
  }),
]
