// The types of handlers follow from the declarations: `npm run check` compiles this file. A line with @ts-expect-error fails there
// if it has no error.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig, hmac, stripe, type StandardSchema, type StripeEvent } from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles if the type of the value is exactly `Type`. */
function isOf<Type>() {
  return <Value>(_value: Value, ..._same: Equal<Value, Type> extends true ? [] : [never]): void => undefined
}

interface Order {
  id: string
  amount: number
}
declare const order: StandardSchema<{ id: string; amount?: string }, Order>
declare const shipped: StandardSchema<{ order: string; at?: string }, { order: string; at: Date }>
const shop = { header: 'x-signature', secret: 's' }

/** Not called: only its types matter. */
function declarations() {
  defineConfig({
    receiving: {
      sources: { stripe: stripe({ secret: 's' }) },
      handlers: {
        'invoice.paid': (event) => {
          isOf<StripeEvent>()(event.payload)
          isOf<'invoice.paid'>()(event.type)
          isOf<'stripe'>()(event.source)
          isOf<number>()(event.payload.created)
          isOf<unknown>()(event.payload.data.object['amount_paid'])
        },
        'charge.*': {
          concurrency: 2,
          handle: async (event) => {
            isOf<`charge.${string}`>()(event.type)
            isOf<boolean>()(event.payload.livemode)
          },
        },
        ping: (event) => isOf<'ping' | `ping.${string}`>()(event.type),
        '*': (event) => isOf<string>()(event.type),
      },
    },
  })

  defineConfig({
    receiving: {
      sources: { stripe: stripe({ secret: 's' }), shop: hmac(shop) },
      eventTypes: { 'order.paid': { schema: order } },
      handlers: {
        'order.paid': async ({ payload, source }, { tx }) => {
          isOf<Order>()(payload)
          isOf<'stripe' | 'shop'>()(source)
          await tx.selectFrom('orders').selectAll().execute()
        },
        '*': (event) => {
          isOf<unknown>()(event.payload)
          if (event.source === 'stripe') isOf<StripeEvent>()(event.payload)
        },
      },
    },
  })

  defineConfig({
    receiving: {
      handlers: {
        'order.paid': (event, { emit }) => {
          isOf<unknown>()(event.payload)
          emit({ type: 'order.shipped', data: { order: '1' } })
          emit({ type: 'undeclared', data: 1, audience: '*' })
          emit({ type: 'described', data: 1 })
          // @ts-expect-error -- the schema has no such field
          emit({ type: 'order.shipped', data: { number: 1 } })
          // @ts-expect-error -- there is no data
          emit({ type: 'order.shipped' })
        },
      },
    },
    emitting: {
      eventTypes: {
        'order.shipped': { description: 'An order left', schema: shipped },
        described: { schema: { type: 'number' } },
      },
    },
  })

  // @ts-expect-error -- `handler` is no part of the configuration
  defineConfig({ receiving: { handler: {} } })
  // @ts-expect-error -- a handler is a function, or has one
  defineConfig({ receiving: { handlers: { a: 1 } } })
  // @ts-expect-error -- this is no schema
  defineConfig({ receiving: { eventTypes: { a: { schema: {} } } } })
}

test('defineConfig returns its argument', () => {
  assert.equal(typeof declarations, 'function')
  const config = { receiving: { handlers: { a: () => undefined } } }
  assert.equal(defineConfig(config), config)
})
