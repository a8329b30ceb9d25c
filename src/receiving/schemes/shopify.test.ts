// The two families of headers that Shopify sends, see the pages that shopify.ts names.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { shopify } from './presets.ts'

const body = '{"id":"gid://shopify/Product/1","title":"Größe"}'
const mac = (secret = 'client-secret') => createHmac('sha256', secret).update(body).digest('base64')
const event = {
  'shopify-hmac-sha256': mac(),
  'shopify-topic': 'Product',
  'shopify-action': 'update',
  'shopify-webhook-id': 'w1',
  'shopify-event-id': 'e1',
}

function verify(headers: Record<string, string | undefined>, sent = body) {
  const present = Object.entries(headers).filter(([, value]) => value !== undefined)
  return shopify({ secret: 'client-secret' }).verify({
    rawBody: Buffer.from(sent),
    headers: Object.fromEntries(present),
    now: 0,
  })
}

test('an Event has its own header, its id from the delivery, and its type from topic and action', () => {
  assert.deepEqual(verify(event), { id: 'w1', type: 'Product/update', secret: 1 })
  const { type } = verify({ ...event, 'shopify-action': undefined }) as { type: string }
  assert.equal(type, 'Product')
})

test('the header that a request has must be valid', () => {
  const webhook = {
    'x-shopify-hmac-sha256': mac(),
    'x-shopify-topic': 'orders/create',
    'x-shopify-webhook-id': 'w2',
  }
  assert.deepEqual(verify(webhook), { id: 'w2', type: 'orders/create', secret: 1 })
  for (const refused of [
    verify({ ...event, 'shopify-hmac-sha256': mac('another') }),
    verify({ ...event, ...webhook, 'shopify-hmac-sha256': mac('another') }),
    verify(event, `${body} `),
    verify({ ...event, 'shopify-hmac-sha256': '' }),
    verify({ ...event, 'shopify-hmac-sha256': undefined }),
  ])
    assert.equal('rejected' in refused && refused.rejected, 'signature')
})
