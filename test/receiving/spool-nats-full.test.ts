// A stream of NATS that holds as much as it may: webhooks get 503 until the database has taken what lies there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../src/telemetry/log.ts'
import { startNats } from '../harness/nats.ts'
import { createEffects, eventually, postWebhook } from './harness.ts'
import { deliver, drained, oneEffectEach, plain, ready, skip, stage } from './nats-scene.ts'

/** Bytes: the least that a stream may be given. */
const maxBytes = 128 * 1024 ** 2

test('a full stream: 503 with Retry-After, a log line, and no loss', { skip }, async () => {
  const nats = await startNats(1)
  const lines: string[] = []
  const log = createLog('error', { write: (line) => void lines.push(line) })
  const { link, direct, start, close } = await stage(plain(nats, `?replicas=1&max_bytes=${maxBytes}`), {
    env: { WEBHOOK_BODY_LIMIT: '1000000' },
    parts: { log },
  })
  try {
    const service = await start()
    await createEffects(direct)
    const ids = await deliver(service, 'before', 5)
    link.cut()
    const data = 'x'.repeat(900_000)
    let refused: Response | undefined
    for (let number = 0; !refused && number < 200; number += 1) {
      const id = `large-${number}`
      const response = await postWebhook(service, { id, type: 'work', data })
      if (response.status === 200) ids.push(id)
      else refused = response
    }
    assert.equal(refused?.status, 503)
    assert.equal(((await refused.json()) as { code: string }).code, 'overloaded')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.ok(ids.length > 100, `${ids.length} were acknowledged`)
    const told = (): string[] => lines.filter((line) => line.includes('the spool is full'))
    assert.equal(told().length, 1)
    assert.match(told()[0]!, /max_bytes/)
    assert.equal((await postWebhook(service, { id: 'again', type: 'work', data })).status, 503)
    assert.equal(told().length, 1, 'not a line for each webhook')
    await eventually(async () => (await ready(service)).spool?.status === 'full', '/readyz tells it')

    link.mend()
    await drained(service)
    ids.push(...(await deliver(service, 'back', 5)))
    await oneEffectEach(direct, ids)
  } finally {
    await close()
    nats.close()
  }
})
