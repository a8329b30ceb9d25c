import type { HandlerContext, ReceivedEvent, StripeEvent } from 'postern'

type Tables = {
  orders: { id: string; customer: string; amount: number; currency: string; paid_at: number }
}

/** The fields of a Checkout Session that the shop reads: https://docs.stripe.com/api/checkout/sessions/object */
interface CheckoutSession {
  id: string
  client_reference_id: string | null
  amount_total: number
  currency: string
  payment_status: 'paid' | 'unpaid' | 'no_payment_required'
}

/** Writes a paid order and emits an event for the customer, in one transaction. */
export async function recordOrder(
  event: ReceivedEvent<StripeEvent>,
  { tx, emit, log }: HandlerContext,
): Promise<void> {
  const session = event.payload.data.object as unknown as CheckoutSession
  const { id, client_reference_id: customer, amount_total: amount, currency } = session
  // Some payment methods confirm the payment days later, with another event.
  if (session.payment_status === 'unpaid') return
  if (customer === null) {
    log.warn({ session: id }, 'a payment without a customer: nothing was written')
    return
  }
  const { numInsertedOrUpdatedRows: written } = await tx
    .withTables<Tables>()
    .insertInto('orders')
    .values({ id, customer, amount, currency, paid_at: event.receivedAt.getTime() })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  if (written === 0n) return
  emit({ type: 'order.paid', data: { order: id, amount, currency }, audience: customer })
}
