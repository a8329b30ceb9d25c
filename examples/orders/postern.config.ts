import { defineConfig } from 'postern'

type Tables = {
  orders: { id: string; amount: number; paid_at: string }
}

interface Payment {
  data: { order: string; amount: number }
}

/** A paid order is written down and told to subscribers: both happen once, however often the webhook arrives. */
export default defineConfig({
  receiving: {
    handlers: {
      'order.paid': async (event, { tx, emit, log }) => {
        const { order, amount } = (event.payload as Payment).data
        await tx
          .withTables<Tables>()
          .insertInto('orders')
          .values({ id: order, amount, paid_at: event.receivedAt.toISOString() })
          .execute()
        emit({ type: 'order.confirmed', data: { order, amount } })
        log.info({ order }, 'order paid')
      },
    },
  },
})
