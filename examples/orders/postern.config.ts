import { defineConfig } from 'postern'

type Tables = {
  orders: { id: string; amount: number; paid_at: string }
}

/** A paid order is written down and told to subscribers: both happen once, however often the webhook arrives. */
export default defineConfig({
  receiving: {
    handlers: {
      'order.paid': async (event, { tx, emit, log }) => {
        const payment = readPayment(event.payload)
        if (!payment) {
          // Throwing would have it tried again for a day, and it would be no payment at any of those times.
          log.warn({ event: event.id }, 'order.paid without data.order and data.amount: nothing was written')
          return
        }
        const { order, amount } = payment
        const written = await tx
          .withTables<Tables>()
          .insertInto('orders')
          .values({ id: order, amount, paid_at: event.receivedAt.toISOString() })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .executeTakeFirst()
        // Another event may tell of the same order.
        if (written.numInsertedOrUpdatedRows === 0n) return
        emit({ type: 'order.confirmed', data: { order, amount } })
        log.info({ order }, 'order paid')
      },
    },
  },
})

/** What comes from outside is looked at before it is used: its sender is known, its form is not. */
function readPayment(payload: unknown): { order: string; amount: number } | undefined {
  const { data } = (payload ?? {}) as { data?: { order?: unknown; amount?: unknown } | null }
  const { order, amount } = data ?? {}
  if (typeof order !== 'string' || !Number.isSafeInteger(amount)) return undefined
  return { order, amount: amount as number }
}
