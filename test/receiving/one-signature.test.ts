// One signature is one event, however what it covers is written down.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { bitbucket, github, gitlab, linear, shopify, twilio, woocommerce, zendesk } from '../../src/index.ts'
import { engines, startedService } from '../harness/index.ts'
import { postWebhook } from './harness.ts'

const secret = 'a-secret-of-the-sender-0123456789'
const address = 'https://hooks.example.com/webhooks/calls'
const form = 'application/x-www-form-urlencoded'

describe('one signature', () => {
  const service = startedService(engines[0]!, () => ({
    receiving: {
      sources: {
        calls: twilio({ secret, url: address }),
        code: github({ secret }),
        github: github({ secret, id: 'digest' }),
        gitlab: gitlab({ secret, id: 'digest' }),
        bitbucket: bitbucket({ secret, id: 'digest' }),
        shopify: shopify({ secret, id: 'digest' }),
        woocommerce: woocommerce({ secret, id: 'digest' }),
        linear: linear({ secret, id: 'digest' }),
        zendesk: zendesk({ secret, id: 'digest' }),
      },
    },
  }))

  async function post(source: string, body: string, headers: Record<string, string>): Promise<void> {
    const response = await postWebhook(service, body, { 'x-signature': null, ...headers }, source)
    await response.arrayBuffer()
    assert.equal(response.status, 200, source)
  }
  const eventsOf = async (source: string): Promise<number> =>
    (await service.database.reader.selectFrom('events').select('id').where('source', '=', source).execute())
      .length

  test('of Twilio is one event: other encodings, other splits, other tokens', async () => {
    const signature = createHmac('sha1', secret)
      .update(`${address}MessageStatusdeliveredSidSM1`)
      .digest('base64')
    const writings = [
      'MessageStatus=delivered&Sid=SM1',
      'MessageStatus=%64elivered&Sid=SM1',
      'Sid=SM1&MessageStatus=delivered',
      'MessageStatusdelivered=SidSM1',
      'MessageStatus=deliveredSidSM1',
      'MessageStatus=delivered&Sid=SM1&Sid=SM1',
      '&MessageStatus=delivered&&Sid=SM1',
    ]
    for (const body of writings)
      for (const token of [undefined, randomUUID(), randomUUID()])
        await post('calls', body, {
          'content-type': form,
          'x-twilio-signature': signature,
          ...(token !== undefined && { 'i-twilio-idempotency-token': token }),
        })
    assert.equal(await eventsOf('calls'), 1)
    const other = createHmac('sha1', secret).update(`${address}MessageStatusdeliveredSidSM2`).digest('base64')
    await post('calls', 'MessageStatus=delivered&Sid=SM2', {
      'content-type': form,
      'x-twilio-signature': other,
    })
    assert.equal(await eventsOf('calls'), 2)
  })

  const at = new Date()
  const body = `{"action":"opened","object_kind":"push","type":"Issue","webhookTimestamp":${at.getTime()}}`
  const mac = (encoding: 'hex' | 'base64') => createHmac('sha256', secret).update(body).digest(encoding)
  const senders: Record<string, (id: string) => Record<string, string>> = {
    github: (id) => ({
      'x-hub-signature-256': `sha256=${mac('hex')}`,
      'x-github-event': 'issues',
      'x-github-delivery': id,
    }),
    gitlab: (id) => ({ 'x-gitlab-token': secret, 'idempotency-key': id, 'x-gitlab-event-uuid': id }),
    bitbucket: (id) => ({
      'x-hub-signature': `sha256=${mac('hex')}`,
      'x-event-key': 'repo:push',
      'x-request-uuid': id,
    }),
    shopify: (id) => ({
      'x-shopify-hmac-sha256': mac('base64'),
      'x-shopify-topic': `orders/${id.slice(0, 4)}`,
      'x-shopify-webhook-id': id,
    }),
    linear: (id) => ({ 'linear-signature': mac('hex'), 'linear-delivery': id }),
    zendesk: (id) => ({
      'x-zendesk-webhook-signature': createHmac('sha256', secret)
        .update(at.toISOString() + body)
        .digest('base64'),
      'x-zendesk-webhook-signature-timestamp': at.toISOString(),
      'x-zendesk-webhook-invocation-id': id,
    }),
    woocommerce: (id) => ({
      'x-wc-webhook-signature': mac('base64'),
      'x-wc-webhook-topic': 'order.updated',
      'x-wc-webhook-delivery-id': id,
    }),
  }
  for (const [source, headersOf] of Object.entries(senders))
    test(`of ${source}, which does not sign its ids, is one event, whose id is the digest`, async () => {
      for (let times = 0; times < 3; times += 1) await post(source, body, headersOf(randomUUID()))
      assert.equal(await eventsOf(source), 1)
    })

  test('of GitHub is identified by its delivery id', async () => {
    const id = randomUUID()
    for (const one of [id, id, randomUUID()]) await post('code', body, senders['github']!(one))
    assert.equal(await eventsOf('code'), 2)
  })
})
