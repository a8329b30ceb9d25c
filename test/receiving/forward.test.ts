import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hmac } from '../../src/index.ts'
import { engines, onEachEngine } from '../harness/engines.ts'
import { startReceiver } from '../harness/receiver.ts'
import { startTestService, webhookSecret } from '../harness/service.ts'
import { postWebhook, settled } from './harness.ts'

onEachEngine('a source that forwards', (engine) => {
  test('posts the bytes that came, with the same id, until a 2xx comes back; a redirect is none', async () => {
    const receiver = await startReceiver(
      (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      500,
      204,
    )
    const service = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0' },
      config: {
        receiving: {
          sources: {
            provider: hmac({ header: 'x-signature', secret: webhookSecret, forwardTo: `${receiver.url}/in` }),
          },
          handlers: { '*': () => assert.fail('a source that forwards has no handlers') },
        },
      },
    })
    try {
      const body = '{ "id": "forwarded", "type": "a", "n": 12345678901234567890 }'
      await postWebhook(service, body)
      await settled(service.database)
      assert.equal(receiver.calls.length, 3)
      for (const call of receiver.calls) {
        assert.equal(new URL(call.path, receiver.url).pathname.endsWith('/in'), true)
        assert.equal(call.body.toString(), body)
        assert.equal(call.headers['content-type'], 'application/json')
        assert.equal(call.headers['webhook-id'], 'forwarded')
        assert.equal(call.headers['x-signature'], undefined)
      }
      const inbox = await service.database.reader.selectFrom('inbox').selectAll().executeTakeFirstOrThrow()
      assert.equal(inbox.status, 'processed')
    } finally {
      await service.close()
      await receiver.close()
    }
  })

  test('a large answer is not read, one that never ends is not waited for, and a slow one is given up', async () => {
    const chunk = Buffer.alloc(64 * 1024)
    let taken = 0
    const receiver = await startReceiver(
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
    const service = await startTestService(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0,0,0,0', HANDLER_TIMEOUT: '0.5' },
      config: {
        receiving: {
          sources: {
            provider: hmac({ header: 'x-signature', secret: webhookSecret, forwardTo: receiver.url }),
          },
        },
      },
    })
    try {
      for (const id of ['large', 'endless', 'silent']) {
        await postWebhook(service, { id, type: 'a' })
        await settled(service.database)
      }
      assert.equal(receiver.calls.length, 4, 'only the silent one is repeated')
      assert.ok(taken < 900, `${taken} chunks of the answer were taken`)
      const inbox = await service.database.reader
        .selectFrom('inbox')
        .select(['event_id', 'attempts'])
        .execute()
      assert.deepEqual(Object.fromEntries(inbox.map((row) => [row.event_id, row.attempts])), {
        large: 1,
        endless: 1,
        silent: 2,
      })
    } finally {
      await service.close()
      await receiver.close()
    }
  })
})

test('a forwardTo that cannot be called stops the start', async () => {
  for (const forwardTo of ['internal:80', 'http://user:word@internal/', 'http://internal:0/', 7 as never]) {
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
