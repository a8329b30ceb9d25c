import { defineConfig, list, type FieldOptions } from 'postern'

const orderFields = {
  id: { type: 'bigint' },
  status: { type: 'enum', values: ['open', 'paid', 'sent', 'returned'] },
  total: { type: 'numeric' },
  gift: { type: 'boolean' },
  note: { type: 'text' },
  placedAt: { type: 'timestamp', column: 'placed_at' },
  sentAt: { type: 'timestamp', column: 'sent_at' },
  customer: { type: 'uuid', column: 'customer_id' },
} as const satisfies Record<string, FieldOptions>

const lines = {
  table: 'shop.order_lines',
  from: 'id',
  key: 'order_id',
  fields: {
    position: { type: 'integer' },
    sku: { type: 'text' },
    quantity: { type: 'integer' },
    price: { type: 'numeric' },
  },
  many: { order: ['position'], limit: 50 },
} as const

export default defineConfig({
  listing: {
    lists: [
      // For the shop's people: administrators, and API keys with the scope lists:read.
      list({
        path: '/orders',
        table: 'shop.orders',
        summary: 'Orders, newest first',
        fields: orderFields,
        key: 'id',
        order: ['-placedAt'],
        sort: ['placedAt', 'total'],
        filters: {
          status: 'in',
          customer: 'equals',
          gift: 'flag',
          minTotal: { kind: 'atLeast', field: 'total' },
          since: { kind: 'atLeast', field: 'placedAt' },
          until: { kind: 'below', field: 'placedAt' },
        },
        pages: ['cursor', 'offset'],
        expand: {
          lines,
          buyer: {
            table: 'shop.customers',
            from: 'customer',
            fields: { name: { type: 'text' }, email: { type: 'text' }, country: { type: 'text' } },
          },
        },
        exports: true,
      }),
      // For customers who are signed in: their own orders. The view joins the customer's user to each order.
      list({
        path: '/my-orders',
        table: 'postern.orders_of_users',
        summary: 'Your orders, newest first',
        access: 'user',
        where: (caller) => ({ user: caller.userId }),
        fields: { ...orderFields, user: { type: 'text', column: 'postern_user', hidden: true } },
        key: 'id',
        order: ['-placedAt'],
        filters: { status: 'in' },
        expand: { lines },
      }),
      // For everyone: what is for sale.
      list({
        path: '/catalogue',
        table: 'shop.products',
        summary: 'Products for sale, by name',
        access: 'public',
        where: () => ({ active: true }),
        fields: {
          sku: { type: 'text' },
          name: { type: 'text' },
          price: { type: 'numeric' },
          tags: { type: 'json' },
          attributes: { type: 'json' },
          released: { type: 'date' },
          active: { type: 'boolean', hidden: true },
        },
        key: 'sku',
        order: ['name'],
        filters: { name: 'prefix', maxPrice: { kind: 'atMost', field: 'price' } },
      }),
      list({
        path: '/sales',
        table: 'shop.sales',
        summary: 'Orders and revenue by country and month',
        fields: {
          id: { type: 'text' },
          country: { type: 'text' },
          month: { type: 'date' },
          orders: { type: 'bigint' },
          revenue: { type: 'numeric' },
        },
        key: 'id',
        order: ['-month', 'country'],
        filters: { country: 'equals', since: { kind: 'atLeast', field: 'month' } },
        exports: true,
      }),
    ],
  },
})
