// POST /webhooks/provider and "Received webhooks", rule by rule, in the order of the specification.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Stripe from 'stripe'
import { stripe } from '../../src/index.ts'
import { onEachEngine, startTestService, type TestService } from '../harness/index.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  sign,
  writeEffect,
} from '../receiving/harness.ts'

const stripeSecret = 'whsec_specification'

onEachEngine('specification: receiving', (engine) => {
  let service: TestService
  let release: () => void
  const held = new Promise<void>((resolve) => (release = resolve))
  let throwing = true

  before(async () => {
    service = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0' },
      config: {
        receiving: {
          sources: { stripe: stripe({ secret: stripeSecret }) },
          handlers: {
            effect: (event, { tx }) => writeEffect(tx, event.id, event.attempt),
            slow: async () => held,
            throwing: async (event, { tx }) => {
              await writeEffect(tx, event.id, event.attempt)
              if (throwing) throw new Error('after the write')
            },
          },
        },
      },
    })
    await createEffects(service.database)
  })
  after(async () => {
    release()
    await service.close()
  })

  const stored = async (eventId: string): Promise<number> => {
    const rows = await service.database.reader
      .selectFrom('events')
      .select('id')
      .where('event_id', '=', eventId)
      .execute()
    return rows.length
  }

  test('1. the HMAC is computed over the raw bytes, not over a parsed and re-serialized body', async () => {
    const body = '{ "type" : "effect",\n  "id":"raw",  "n": 1.0, "s": "\\u00e9" }  '
    assert.equal((await postWebhook(service, body)).status, 200)
    const reserialized = sign(JSON.stringify(JSON.parse(body)))
    assert.equal((await postWebhook(service, body, { 'x-signature': reserialized })).status, 401)
  })

  test('1. the signature is the hex digest of an HMAC-SHA256 keyed with the shared secret', async () => {
    const body = { id: 'hex', type: 'effect' }
    const right = sign(JSON.stringify(body))
    assert.equal((await postWebhook(service, body, { 'x-signature': right.toUpperCase() })).status, 200)
    const otherKey = sign(JSON.stringify(body), 'another secret')
    assert.equal((await postWebhook(service, body, { 'x-signature': otherKey })).status, 401)
    const inBase64 = Buffer.from(right, 'hex').toString('base64')
    assert.equal((await postWebhook(service, body, { 'x-signature': inBase64 })).status, 401)
  })

  test('2. digests of every length and form are compared alike, and none breaks the comparison', async () => {
    const body = { id: 'lengths', type: 'effect' }
    const right = sign(JSON.stringify(body))
    const wrong = [
      '',
      '0',
      'zz',
      right.slice(0, 62),
      `${right}00`,
      `sha256=${right}`,
      `${right}, ${right}`,
      'é'.repeat(32),
      '0'.repeat(64),
    ]
    for (const digest of wrong) {
      assert.equal(
        (await postWebhook(service, body, { 'x-signature': digest })).status,
        401,
        `x-signature: ${digest}`,
      )
    }
    assert.equal(await stored('lengths'), 0)
  })

  test('3. a missing or wrong x-signature gives 401 with the text body invalid signature, and the event is not processed', async () => {
    const body = { id: 'unsigned', type: 'effect' }
    for (const signature of [null, '0'.repeat(64)]) {
      const response = await postWebhook(service, body, { 'x-signature': signature })
      assert.equal(response.status, 401)
      assert.match(response.headers.get('content-type') ?? '', /^text\/plain/)
      assert.equal(await response.text(), 'invalid signature')
    }
    assert.equal(await stored('unsigned'), 0)
  })

  test('3. the signature comes before the form: a malformed body without a signature is answered 401', async () => {
    const response = await postWebhook(service, '{broken', { 'x-signature': null })
    assert.equal(response.status, 401)
    assert.equal(await response.text(), 'invalid signature')
  })

  test('3. the signature comes before the media type: 401 whatever the content type, 415 only for who has signed', async () => {
    const body = { id: 'typed', type: 'effect' }
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', ';', null]) {
      for (const signature of [null, '', '0'.repeat(64)]) {
        const headers = { 'content-type': type, 'x-signature': signature }
        const response = await postWebhook(service, body, headers)
        assert.equal(response.status, 401, `content-type: ${type}, x-signature: ${signature}`)
        assert.equal(await response.text(), 'invalid signature')
      }
      const signed = await postWebhook(service, body, { 'content-type': type })
      assert.equal(signed.status, 415, `content-type: ${type}, signed`)
    }
    assert.equal(await stored('typed'), 0)
  })

  test('4. a valid event is queued and answered 200 at once, before any slow work', async () => {
    const response = await postWebhook(service, { id: 'slow', type: 'slow' })
    assert.equal(response.status, 200)
    const row = await service.database.reader
      .selectFrom('event_queue')
      .select('status')
      .where('event_id', '=', 'slow')
      .executeTakeFirst()
    assert.equal(row?.status, 'pending')
    release()
    await settled(service.database)
  })

  test('5. an event that cannot be accepted is answered by another status than 2xx, and not stored', async () => {
    const malformed = [
      '',
      '{',
      '[]',
      '"text"',
      'null',
      '1',
      '{}',
      '{"id":"a"}',
      '{"type":"a"}',
      '{"id":1,"type":"a"}',
      '{"id":"","type":"a"}',
      '{"id":"a","type":null}',
    ]
    for (const body of malformed) {
      const response = await postWebhook(service, body)
      assert.equal(response.status, 400, body)
      assert.equal(((await response.json()) as { code: string }).code, 'malformed-event')
    }
    const body = { id: 'not stored', type: 'effect' }
    assert.equal((await postWebhook(service, body, { 'content-type': 'text/plain' })).status, 415)
    assert.equal((await postWebhook(service, { ...body, pad: 'x'.repeat(1024 * 1024) })).status, 413)
    assert.equal(await stored('not stored'), 0)
  })

  test('6. duplicate deliveries are accepted but processed once', async () => {
    const deliveries = Array.from({ length: 50 }, () =>
      postWebhook(service, { id: 'duplicate', type: 'effect' }),
    )
    for (const response of await Promise.all(deliveries)) assert.equal(response.status, 200)
    assert.equal((await postWebhook(service, { id: 'duplicate', type: 'effect' })).status, 200)
    await settled(service.database)
    assert.equal((await postWebhook(service, { id: 'duplicate', type: 'effect' })).status, 200)
    await settled(service.database)
    const effects = await readEffects(service.database)
    assert.equal(effects.filter((id) => id === 'duplicate').length, 1)
    assert.equal(await stored('duplicate'), 1)
  })

  test('the processed-event marker is written in the same transaction as the work', async () => {
    await postWebhook(service, { id: 'marked', type: 'throwing' })
    const failed = await eventually(() =>
      service.database.reader
        .selectFrom('event_queue')
        .selectAll()
        .where('event_id', '=', 'marked')
        .where('status', '=', 'failed')
        .executeTakeFirst(),
    )
    assert.equal(failed.processed_at, null)
    assert.equal(
      (await readEffects(service.database)).includes('marked'),
      false,
      'what it wrote was rolled back',
    )

    throwing = false
    assert.equal((await service.admin(`/events/${failed.event}/reprocess`, { method: 'POST' })).status, 202)
    await settled(service.database)
    const marker = await service.database.reader
      .selectFrom('event_queue')
      .selectAll()
      .where('event_id', '=', 'marked')
      .executeTakeFirstOrThrow()
    assert.equal(marker.status, 'processed')
    assert.ok(marker.processed_at! > 0)
    assert.deepEqual(
      (await readEffects(service.database)).filter((id) => id === 'marked'),
      ['marked'],
    )
  })

  test('signed timestamps are checked and old signatures rejected', async () => {
    const payload = JSON.stringify({ id: 'evt_1', type: 'invoice.paid' })
    const send = (timestamp: number) =>
      service.fetch('/webhooks/stripe', {
        method: 'POST',
        body: payload,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': Stripe.webhooks.generateTestHeaderString({
            payload,
            secret: stripeSecret,
            timestamp,
          }),
        },
      })
    const now = Math.floor(Date.now() / 1000)
    assert.equal((await send(now - 600)).status, 401)
    assert.equal((await send(now + 600)).status, 401)
    assert.equal((await send(now)).status, 200)
  })
})
