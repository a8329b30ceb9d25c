// The handler whose speed is measured: it writes one row, in the transaction that also holds the processed-event marker.
import { defineConfig } from '../../src/index.ts'
import type { OrderTable, Payload } from './orders.ts'

export default defineConfig({
  receiving: {
    handlers: {
      'order.paid': async (event, { tx }) => {
        const { data } = event.payload as Payload
        await tx
          .withTables<{ orders: OrderTable }>()
          .insertInto('orders')
          .values({
            event_id: event.id,
            number: data.order,
            customer: data.customer,
            currency: data.currency,
          })
          .execute()
      },
    },
  },
})
