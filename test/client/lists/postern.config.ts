import { defineConfig, list } from 'postern'

export default defineConfig({
  listing: {
    lists: [
      list({
        path: '/orders',
        table: 'orders',
        summary: 'Orders */ of the shop',
        access: 'public',
        fields: {
          id: { type: 'bigint' },
          status: { type: 'enum', values: ['open', 'paid', 'a,"b'] },
          total: { type: 'integer', description: 'In cents' },
          weight: { type: 'number' },
          placedAt: { type: 'timestamp', column: 'placed_at' },
          note: { type: 'text' },
          product: { type: 'text', nullable: true },
          extra: { type: 'json' },
          customer: { type: 'text', hidden: true },
        },
        key: 'id',
        order: ['id'],
        sort: ['total', 'placedAt'],
        filters: {
          status: 'in',
          only: { kind: 'equals', field: 'status' },
          id: 'in',
          minTotal: { kind: 'atLeast', field: 'total', description: 'The smallest total' },
          since: { kind: 'atLeast', field: 'placedAt' },
          without: { kind: 'null', field: 'note' },
          text: { kind: 'contains', field: 'note' },
          customer: 'equals',
          city: { kind: 'equals', field: 'extra', member: 'city' },
        },
        pages: ['cursor', 'offset'],
        expand: {
          item: { table: 'items', from: 'product', fields: { name: { type: 'text' } } },
          lines: {
            table: 'order_lines',
            from: 'id',
            key: 'order_id',
            fields: { position: { type: 'integer' } },
            many: { order: ['position'] },
          },
        },
        one: true,
      }),
      list({
        path: '/items',
        table: 'items',
        access: 'public',
        fields: { id: { type: 'text' }, name: { type: 'text' } },
        key: 'id',
        pages: ['keyset'],
      }),
    ],
  },
})
