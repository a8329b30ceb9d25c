import { defineConfig } from 'postern'

type Tables = {
  orders: { id: string; amount: number; paid_at: string }
}

/** Writes a paid order and emits an event, both once, however often the webhook arrives. */
export default defineConfig({
  receiving: {
    handlers: {
      'order.paid': async (event, { tx, emit, log }) => {
        const payment = readPayment(event.payload)
        if (!payment) {
          // An error would be retried for a day, without success.
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
        // Another event may be about the same order.
        if (written.numInsertedOrUpdatedRows === 0n) return
        emit({ type: 'order.confirmed', data: { order, amount } })
        log.info({ order }, 'order paid')
      },
    },
  },
})

/** The signature proves the sender, not the payload's shape. */
function readPayment(payload: unknown): { order: string; amount: number } | undefined {
  const { data } = (payload ?? {}) as { data?: { order?: unknown; amount?: unknown } | null }
  const { order, amount } = data ?? {}
  if (typeof order !== 'string' || !Number.isSafeInteger(amount)) return undefined
  return { order, amount: amount as number }
}
