import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import { fields, engines, startedService, startTestService, type TestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createLog } from '../../src/telemetry/log.ts'

type Subscriber = AnswerTo<'GET /subscribers/{id}'>

describe('sample subscriber', () => {
  const lines = new EventEmitter()
  const log = createLog('info', { write: (line) => void lines.emit('line', JSON.parse(line)) })
  const service = startedService(engines[0]!, () => ({ parts: { samples: true, log } }))
  const samples = async (running: TestService): Promise<Subscriber[]> => {
    const { data } = (await (await running.admin('/subscribers')).json()) as { data: Subscriber[] }
    return data.filter(({ url }) => url.endsWith('/demo/subscriber'))
  }

  test('verifies an emitted event and prints it in one line', async () => {
    const json = { type: 'order.shipped', data: { order: 1 } }
    const [response] = await Promise.all([service.admin('/events', { method: 'POST', json }), printed()])
    assert.equal(response.status, 202)
    async function printed(): Promise<void> {
      const text = 'the sample endpoint received order.shipped with a valid signature: {"order":1}'
      for (;;) {
        const [{ msg }] = (await once(lines, 'line', { signal: AbortSignal.timeout(20_000) })) as [
          { msg: string },
        ]
        if (msg === text) return
      }
    }
  })

  test('refuses everything that its secret did not sign', async () => {
    const forged = {
      'webhook-id': 'a',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
    }
    for (const headers of [
      {},
      forged,
      { ...forged, 'webhook-timestamp': 'x' },
      { ...forged, 'content-type': 'text/plain' },
    ]) {
      const response = await fetch(`${service.baseUrl}/demo/subscriber`, {
        method: 'POST',
        headers,
        body: '{}',
      })
      assert.equal(response.status, 401)
    }
  })

  test('is registered once, follows the address of the service, and keeps changes of a user', async () => {
    const { databaseUrl } = service
    const [{ id }] = (await samples(service)) as [Subscriber]
    await service.admin(`/subscribers/${id}`, { method: 'PATCH', json: { status: 'paused' } })
    await service.stop(5_000)
    const next = await startTestService(engines[0]!, { databaseUrl, parts: { samples: true } })
    const found = await samples(next)
    assert.deepEqual(fields(found, 'id', 'url', 'status'), [
      [id, `${next.baseUrl}/demo/subscriber`, 'paused'],
    ])
    await next.close()
  })
})
