import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hmac } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
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
})
