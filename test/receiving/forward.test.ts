import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { hmac, type ForwardTarget } from '../../src/index.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { keysOf, writeKey } from '../../src/receiving/forward.ts'
import { engines, onEachEngine, rowIn, rowsOf, started } from '../harness/index.ts'
import { type ReceivedCall, startReceiver } from '../harness/receiver.ts'
import { startTestService, webhookSecret } from '../harness/service.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { expectJson } from '../emitting/harness.ts'

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

const from = (forwardTo: string | ForwardTarget) =>
  hmac({ header: 'x-signature', secret: webhookSecret, forwardTo })
const masters = ['a-newer-master-secret-of-32-bytes-or-more', 'an-older-master-secret-of-32-bytes-or-more']

/** What the receiver's own library says. @throws when it is not signed with the secret. */
function verify(secret: string, { body, headers }: ReceivedCall): void {
  new Webhook(secret).verify(body, headers as Record<string, string>)
}

onEachEngine('a source that forwards', (engine) => {
  const receiver = started(() =>
    startReceiver((response) => response.writeHead(302, { location: '/elsewhere' }).end(), 500, 204),
  )
  const rotated = started(() => startReceiver(204))
  const failing = started(() => startReceiver((response) => response.writeHead(500).end('no such table')))
  const later = started(() =>
    startReceiver((response) => response.writeHead(503, { 'retry-after': '3600' }).end()),
  )
  const [secret, current, last] = [newSecret(), newSecret(), newSecret()]
  const service = started(() =>
    startTestService(engine, {
      env: {
        HANDLER_RETRY_SCHEDULE: '0,0,0,0',
        POSTERN_SECRET: masters.join(','),
      },
      receiving: {
        sources: {
          provider: from({ url: receiver.url, secret }),
          rotating: from({ url: rotated.url, secret: `${current},${last}` }),
          derived: from(rotated.url),
          failing: from({ url: failing.url, secret }),
          later: from(later.url),
        },
        handlers: { '*': () => assert.fail('a source that forwards has no handlers') },
      },
    }),
  )
  const queued = (eventId: string) => rowIn(service, 'event_queue', { event_id: eventId })

  test('posts the received bytes and headers, signed, with the same id, until a 2xx response; redirects are failures', async () => {
    const body = '{ "id": "evt.1/ä", "type": "a", "n": 12345678901234567890 }'
    await postWebhook(service, body, {
      'x-topic': 'orders/paid',
      'user-agent': 'Shop/1.0',
      'x-forwarded-for': '10.0.0.1',
      authorization: 'Bearer of-the-sender',
      'webhook-id': 'the-sender-says-so',
    })
    await settled(service.database)
    assert.equal(receiver.calls.length, 3)
    for (const call of receiver.calls) {
      assert.equal(new URL(call.path, receiver.url).pathname, '/hook')
      assert.equal(call.body.toString(), body)
      verify(secret, call)
      assert.throws(() => verify(newSecret(), call))
      const { headers } = call
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers['x-topic'], 'orders/paid')
      assert.equal(headers['user-agent'], 'Shop/1.0')
      assert.equal(headers['webhook-id'], 'evt%2E1%2F%C3%A4')
      assert.equal(headers['webhook-source'], 'provider')
      assert.equal(headers['webhook-type'], 'a')
      for (const kept of ['x-signature', 'authorization', 'x-forwarded-for'])
        assert.equal(headers[kept], undefined, kept)
    }
    assert.equal((await queued('evt.1/ä')).status, 'processed')
  })

  test('during a rotation both secrets sign; without a secret, those derived from POSTERN_SECRET sign', async () => {
    await postWebhook(service, { id: '1', type: 'a' }, {}, 'rotating')
    await settled(service.database)
    for (const one of [current, last]) verify(one, rotated.calls[0]!)

    await postWebhook(service, { id: '2', type: 'a' }, {}, 'derived')
    await settled(service.database)
    for (const master of masters)
      verify(writeKey(keysOf('', 'derived', new Keyring([master]))[0]), rotated.calls[1]!)
    assert.throws(() => verify(writeKey(keysOf('', 'other', new Keyring(masters))[0]), rotated.calls[1]!))
  })

  test('fails after the last attempt with the response of the receiver, and is sent again on request with the same id', async () => {
    await postWebhook(service, { id: 'evt_1', type: 'a' }, {}, 'failing')
    await settled(service.database)
    assert.equal(failing.calls.length, 4, 'as often as the schedule says')
    const { event } = await queued('evt_1')
    const path = `/events/${event}`
    const shown = await expectJson<{ status: string; processing: { failures: { error: string }[] } }>(
      service,
      200,
      path,
    )
    assert.equal(shown.status, 'failed')
    assert.match(shown.processing.failures[0]!.error, /answered 500: no such table/)

    failing.answer(204)
    const again = await service.admin(`/events/${event}/reprocess`, { method: 'POST' })
    assert.equal(again.status, 202)
    await settled(service.database)
    assert.equal(failing.calls.length, 5)
    for (const call of failing.calls) {
      verify(secret, call)
      assert.equal(call.headers['webhook-id'], 'evt_1')
    }
    assert.equal((await queued('evt_1')).status, 'processed')
  })

  test('Retry-After is respected', async () => {
    await postWebhook(service, { id: 'evt_later', type: 'a' }, {}, 'later')
    const failed = await eventually(async () =>
      service.database.reader
        .selectFrom('handler_failures')
        .innerJoin('event_queue', 'event_queue.event', 'handler_failures.event')
        .select(['event_queue.due_at', 'handler_failures.at'])
        .where('event_queue.event_id', '=', 'evt_later')
        .executeTakeFirst(),
    )
    assert.ok(failed.due_at - failed.at >= 3_600_000)
    // The other tests wait until nothing is left.
    await service.database.transaction((tx) =>
      tx.updateTable('event_queue').set({ due_at: 0 }).where('event_id', '=', 'evt_later').execute(),
    )
    later.answer(204)
    service.database.signal('event_queue')
    await settled(service.database)
  })

  test('a large response is not read, an endless one not awaited, and a slow one times out', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    let taken = 0
    await using slow = await startReceiver(
      (response) => {
        const write = (): void => {
          while (!response.destroyed && taken < 1000) {
            taken += 1
            if (!response.write(chunk)) return void response.once('drain', write)
          }
        }
        write()
      },
      (response) => void response.writeHead(200).write('and then nothing'),
      // No answer at all, until the handler's time is over.
      () => undefined,
      204,
    )
    // The handlers' time limits end when the test says so: a busy machine takes any time for the others.
    const limits = new Set<() => void>()
    const after: Clock['after'] = (ms, callback) => {
      if (ms !== 3_600_000) return systemClock.after(ms, callback)
      limits.add(callback)
      return () => void limits.delete(callback)
    }
    await using impatient = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0', HANDLER_TIMEOUT: '3600' },
      parts: { clock: { ...systemClock, after } },
      receiving: { sources: { provider: from(slow.url) } },
    })
    for (const id of ['large', 'endless', 'silent']) {
      await postWebhook(impatient, { id, type: 'a' })
      if (id === 'silent') {
        await slow.waitFor(3)
        for (const end of limits) end()
      }
      await settled(impatient.database)
    }
    assert.equal(slow.calls.length, 4, 'only the silent one is repeated')
    assert.ok(taken < 900, `${taken} chunks of the answer were taken`)
    const rows = await rowsOf(impatient, 'event_queue')
    assert.deepEqual(Object.fromEntries(rows.map((row) => [row.event_id, row.attempts])), {
      large: 1,
      endless: 1,
      silent: 2,
    })
  })
})

test('an invalid forwardTo stops the start', async () => {
  for (const forwardTo of [
    { url: 'https://a.example/', secret: `whsec_${'-_aB'.repeat(8)}` },
    'internal:80',
    'http://user:word@internal/',
    'http://internal:0/',
    7 as never,
    { url: 'http://internal/', secret: process.env['NOT_SET'] ?? '' },
    { url: 'http://internal/', secret: 'hunter2' },
    { url: 'internal:80', secret: newSecret() },
  ]) {
    await assert.rejects(
      startTestService(engines[0]!, {
        receiving: { sources: { shop: from(forwardTo) } },
      }),
      /receiving\.sources\.shop has a forwardTo/,
    )
  }
})
