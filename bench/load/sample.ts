// What every sender of load knows.
export const adminKey = 'pk_bench_admin_key_0123456789'
export const webhookSecret = 'bench-webhook-secret'
/** The length of a body where no other is named. */
export const bodyBytes = 1024

const items = Array.from({ length: 6 }, (_, index) => ({
  sku: `SKU-${1000 + index}`,
  quantity: index + 1,
  price: 19.9 + index,
  gift: index % 2 === 0,
}))

/** JSON of exactly `bytes` bytes, when that is enough for the fields: an order, filled up with a note. */
export function sampleBody(event: { id: string; type: string }, bytes = bodyBytes): string {
  const data = { order: 48_151, customer: 'cus_2342', currency: 'EUR', items, note: '' }
  const bare = JSON.stringify({ ...event, data })
  data.note = 'n'.repeat(Math.max(0, bytes - bare.length))
  return JSON.stringify({ ...event, data })
}
