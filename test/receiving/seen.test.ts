// What a received event shows: how it was verified, what happened to it, what its handlers emitted.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { hmac, linear, stripe } from '../../src/index.ts'
import { each, fields, findRow, onEachEngine, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook, sign } from './harness.ts'

type Detail = AnswerTo<'GET /events/{id}'>

const own = hmac({ header: 'x-signature', secret: 'mine' })

onEachEngine('the detail of an event', (engine) => {
  const seenHeaders: Record<string, string>[] = []

  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,0' },
    receiving: {
      sources: {
        stripe: stripe({ secret: ['whsec_old', 'whsec_new'] }),
        linear: linear({ secret: 'l' }),
        feed: hmac({
          header: 'x-feed',
          secret: 'f',
          mediaTypes: ['text/xml'],
          id: 'digest',
          type: { always: 'feed' },
        }),
        own: { ...own, verify: () => ({ id: 'own', type: 'unhandled' }) },
      },
      handlers: {
        'charge.ok': (event, { emit }) => {
          seenHeaders.push(event.headers)
          emit({ type: 'order.paid', id: `${event.id}-paid`, data: 1 })
          emit({ type: 'order.sent', id: `${event.id}-sent`, data: 2 })
        },
        'charge.late': (event, { emit }) => {
          emit({ type: 'order.late', id: `late-${event.attempt}`, data: 1 })
          if (event.attempt === 1) throw new Error('not yet')
        },
      },
    },
  }))

  const post = (source: string, body: string, headers: Record<string, string>, type = 'application/json') =>
    postWebhook(service, body, { 'content-type': type, 'x-signature': null, ...headers }, source)
  const detailOf = async (eventId: string): Promise<Detail> => {
    const { id } = await eventually(() => findRow(service, 'events', { event_id: eventId }))
    return (await (await service.fetch(`/events/${id}`)).json()) as Detail
  }
  const processed = (eventId: string): Promise<Detail> =>
    eventually(async () => {
      const detail = await detailOf(eventId)
      return detail.status === 'processed' ? detail : undefined
    })
  const stripeSignature = (body: string, secret: string, t: number): string =>
    `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`

  test('the scheme, the position of the secret and the signed time, but no secret', async () => {
    const t = Math.floor(Date.now() / 1000) - 7
    const body = '{"id":"evt_1","type":"charge.ok"}'
    const sent = { 'stripe-signature': stripeSignature(body, 'whsec_new', t), 'x-plain': 'shown' }
    assert.equal((await post('stripe', body, sent)).status, 200)
    const detail = await processed('evt_1')
    const signedAt = new Date(t * 1000).toISOString()
    assert.deepEqual(detail.verification, { scheme: 'stripe', secret: 2, signedAt })
    assert.deepEqual(Object.keys(detail.headers!).toSorted(), [
      'accept-language',
      'content-type',
      'sec-fetch-mode',
      'user-agent',
      'x-plain',
    ])
    assert.doesNotMatch(JSON.stringify(detail), /whsec|stripe-signature/)
    assert.ok(seenHeaders[0])
    assert.deepEqual(seenHeaders[0], detail.headers, 'its handler gets the headers and nothing beside them')
  })

  test('the emitted events of its handlers, in both directions', async () => {
    const body = '{"id":"evt_both","type":"charge.ok"}'
    const sent = {
      'stripe-signature': stripeSignature(body, 'whsec_new', Math.floor(Date.now() / 1000)),
    }
    assert.equal((await post('stripe', body, sent)).status, 200)
    const detail = await processed('evt_both')
    assert.deepEqual(fields(detail.emitted, 'eventId', 'type'), [
      ['evt_both-paid', 'order.paid'],
      ['evt_both-sent', 'order.sent'],
    ])
    const caused = await detailOf('evt_both-paid')
    assert.equal(caused.causedBy, detail.id)
    assert.equal(caused.id, detail.emitted[0]!.id)
    assert.deepEqual(caused.emitted, [])
    assert.equal(caused.verification, null)
    const byCall = { method: 'POST', json: { type: 't', id: 'by-call', data: 1 } }
    await service.admin('/events', byCall)
    assert.equal((await detailOf('by-call')).causedBy, null)
  })

  test('a failed attempt has its error with the stack, and no emitted events', async () => {
    const body = '{"id":"evt_2","type":"charge.late"}'
    await post('stripe', body, {
      'stripe-signature': stripeSignature(body, 'whsec_old', Math.floor(Date.now() / 1000)),
    })
    const detail = await processed('evt_2')
    assert.equal(detail.verification!.secret, 1)
    assert.equal(detail.processing!.failures.length, 1)
    assert.match(detail.processing!.failures[0]!.error, /^Error: not yet\n {4}at .*seen\.test\.ts/)
    assert.deepEqual(each(detail.emitted, 'eventId'), ['late-2'])
  })

  test('other schemes: no time, a time in the body, custom; signature headers of any name are omitted', async () => {
    const xml = '<feed>é</feed>'
    const hex = createHmac('sha256', 'f').update(xml).digest('hex')
    assert.equal((await post('feed', xml, { 'x-feed': hex }, 'text/xml')).status, 200)
    const row = await eventually(() => findRow(service, 'events', { source: 'feed' }))
    const feed = await detailOf(row.event_id)
    assert.deepEqual(feed.verification, { scheme: 'hmac', secret: 1, signedAt: null })
    assert.equal(feed.headers!['x-feed'], undefined)
    assert.equal(Buffer.from(feed.payloadBase64!, 'base64').toString(), xml)

    const now = Date.now()
    const body = JSON.stringify({ type: 'Issue', action: 'create', webhookTimestamp: now })
    assert.equal(
      (await post('linear', body, { 'linear-signature': sign(body, 'l'), 'linear-delivery': 'd1' })).status,
      200,
    )
    assert.deepEqual((await detailOf('d1')).verification, {
      scheme: 'linear',
      secret: 1,
      signedAt: new Date(now).toISOString(),
    })
    assert.equal((await post('own', '{}', {})).status, 200)
    assert.deepEqual((await detailOf('own')).verification, { scheme: 'hmac', secret: null, signedAt: null })
  })
})
