import { defineConfig, hmac, list } from '../../src/index.ts'
import { client } from './shape.ts'

const text = { type: 'text' } as const
const secret = 'bench-secret-of-a-source-0123456789'
const scheme = hmac({ header: 'x-signature', secret })
const nothing = (): void => undefined

/** Sources, handlers, an app and a list, so that every page has something to show. No handler runs: no event is due. */
export default defineConfig({
  login: {
    clients: [{ ...client, redirectUris: ['https://console.example.com/callback'] }],
  },
  receiving: {
    sources: { shop: scheme, billing: scheme, crm: scheme },
    handlers: {
      'order.paid': {
        handle: nothing,
        orderBy: (event) => (event.payload as { data: { customer: string } }).data.customer,
      },
      'order.refunded': nothing,
      'invoice.paid': nothing,
      'customer.created': nothing,
      'stock.changed': nothing,
    },
  },
  emitting: {
    eventTypes: {
      'order.confirmed': { description: 'An order was confirmed.', samples: [{ order: 'o_1' }] },
    },
  },
  listing: {
    lists: [
      list({
        path: '/people',
        table: 'users',
        fields: { id: text, email: text, name: text, provider: text },
        key: 'id',
        pages: ['cursor'],
      }),
    ],
  },
})
