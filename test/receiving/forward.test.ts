import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { hmac, type ForwardTarget } from '../../src/index.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { keysOf, writeKey } from '../../src/receiving/forward.ts'
import { type Engine, engines, onEachEngine, rowIn, scoped } from '../harness/index.ts'
import { type ReceivedCall, startReceiver } from '../harness/receiver.ts'
import { startTestService, webhookSecret } from '../harness/service.ts'
import { eventually, postWebhook, settled } from './harness.ts'
import { expectJson } from '../emitting/harness.ts'

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

function startForwarding(
  engine: Engine,
  forwardTo: string | ForwardTarget,
  env: Record<string, string> = {},
) {
  return startTestService(engine, {
    env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0', ...env },
    receiving: {
      sources: { provider: hmac({ header: 'x-signature', secret: webhookSecret, forwardTo }) },
      handlers: { '*': () => assert.fail('a source that forwards has no handlers') },
    },
  })
}

/** What the receiver's own library says. @throws when it is not signed with the secret. */
function verify(secret: string, { body, headers }: ReceivedCall): void {
  new Webhook(secret).verify(body, headers as Record<string, string>)
}

onEachEngine('a source that forwards', (engine) => {
  test('posts the received bytes and headers, signed, with the same id, until a 2xx response; redirects are failures', async () => {
    await using receiver = await startReceiver(
      (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      500,
      204,
    )
    const secret = newSecret()
    await using service = scoped(await startForwarding(engine, { url: receiver.url, secret }))
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
    const entry = await rowIn(service, 'event_queue')
    assert.equal(entry.status, 'processed')
  })

  test('during a rotation both secrets sign; without a secret, those derived from POSTERN_SECRET sign', async () => {
    await using receiver = await startReceiver(204)
    const [current, last] = [newSecret(), newSecret()]
    const rotating = await startForwarding(engine, { url: receiver.url, secret: `${current},${last}` })
    try {
      await postWebhook(rotating, { id: '1', type: 'a' })
      await settled(rotating.database)
    } finally {
      await rotating.close()
    }
    for (const secret of [current, last]) verify(secret, receiver.calls[0]!)

    const older = 'an-older-master-secret-of-32-bytes-or-more'
    const secrets = ['a-newer-master-secret-of-32-bytes-or-more', older]
    const derived = await startForwarding(engine, receiver.url, { POSTERN_SECRET: secrets.join(',') })
    try {
      await postWebhook(derived, { id: '2', type: 'a' })
      await settled(derived.database)
    } finally {
      await derived.close()
    }
    for (const master of secrets)
      verify(writeKey(keysOf('', 'provider', new Keyring([master]))[0]), receiver.calls[1]!)
    assert.throws(() => verify(writeKey(keysOf('', 'other', new Keyring(secrets))[0]), receiver.calls[1]!))
  })

  test('fails after the last attempt with the response of the receiver, and is sent again on request with the same id', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(500).end('no such table'))
    const secret = newSecret()
    await using service = scoped(await startForwarding(engine, { url: receiver.url, secret }))
    await postWebhook(service, { id: 'evt_1', type: 'a' })
    await settled(service.database)
    assert.equal(receiver.calls.length, 4, 'as often as the schedule says')
    const { event } = await rowIn(service, 'event_queue')
    const path = `/events/${event}`
    const shown = await expectJson<{ status: string; processing: { failures: { error: string }[] } }>(
      service,
      200,
      path,
    )
    assert.equal(shown.status, 'failed')
    assert.match(shown.processing.failures[0]!.error, /answered 500: no such table/)

    receiver.answer(204)
    const again = await service.admin(`/events/${event}/reprocess`, { method: 'POST' })
    assert.equal(again.status, 202)
    await settled(service.database)
    assert.equal(receiver.calls.length, 5)
    for (const call of receiver.calls) {
      verify(secret, call)
      assert.equal(call.headers['webhook-id'], 'evt_1')
    }
    const entry = await rowIn(service, 'event_queue')
    assert.equal(entry.status, 'processed')
  })

  test('Retry-After is respected', async () => {
    await using receiver = await startReceiver((response) =>
      response.writeHead(503, { 'retry-after': '3600' }).end(),
    )
    await using service = scoped(await startForwarding(engine, receiver.url))
    await postWebhook(service, { id: 'evt_1', type: 'a' })
    const failed = await eventually(async () =>
      service.database.reader
        .selectFrom('handler_failures')
        .innerJoin('event_queue', 'event_queue.event', 'handler_failures.event')
        .select(['event_queue.due_at', 'handler_failures.at'])
        .executeTakeFirst(),
    )
    assert.ok(failed.due_at - failed.at >= 3_600_000)
  })

  test('a large response is not read, an endless one not awaited, and a slow one times out', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    let taken = 0
    await using receiver = await startReceiver(
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
    await using service = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0', HANDLER_TIMEOUT: '3600' },
      parts: { clock: { ...systemClock, after } },
      receiving: {
        sources: {
          provider: hmac({ header: 'x-signature', secret: webhookSecret, forwardTo: receiver.url }),
        },
      },
    })
    for (const id of ['large', 'endless', 'silent']) {
      await postWebhook(service, { id, type: 'a' })
      if (id === 'silent') {
        await receiver.waitFor(3)
        for (const end of limits) end()
      }
      await settled(service.database)
    }
    assert.equal(receiver.calls.length, 4, 'only the silent one is repeated')
    assert.ok(taken < 900, `${taken} chunks of the answer were taken`)
    const rows = await service.database.reader
      .selectFrom('event_queue')
      .select(['event_id', 'attempts'])
      .execute()
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
        config: {
          receiving: { sources: { shop: hmac({ header: 'x-signature', secret: webhookSecret, forwardTo }) } },
        },
      }),
      /receiving\.sources\.shop has a forwardTo/,
    )
  }
})
