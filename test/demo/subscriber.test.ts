import assert from 'node:assert/strict'
import { once, EventEmitter } from 'node:events'
import { test } from 'node:test'
import { byService } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { Keyring } from '../../src/crypto/keyring.ts'
import { createSampleSubscriber, sampleSubscriberId } from '../../src/demo/subscriber.ts'
import { Problem } from '../../src/errors.ts'
import { createEmitting } from '../../src/emitting/index.ts'
import { createApp } from '../../src/http/create-app.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { onEachEngine, type Engine } from '../harness/engines.ts'

/** The parts that service.ts would put together, with log lines that can be waited for. */
async function assemble(engine: Engine) {
  const testDatabase = await engine.createMigratedDatabase()
  const database = await openDatabase(testDatabase.url)
  const lines = new EventEmitter()
  const log = createLog('info', { write: (line) => void lines.emit('line', JSON.parse(line)) })
  const configuration = readEnvironment({ RATE_LIMIT: 'off' })
  const common = {
    configuration,
    database,
    clock: systemClock,
    log,
    keyring: new Keyring(['test-master-secret-of-32-bytes-or-more']),
  }
  const emitting = createEmitting({
    ...common,
    metrics: new Metrics(),
    baseUrl: () => 'http://localhost',
    noteRefusal: async () => undefined,
  })
  const sample = createSampleSubscriber({ ...common, subscribers: emitting.subscribers })
  const app = await createApp({
    ...common,
    authenticate: async () => undefined,
    describeSession: () => Promise.reject(new Problem('not-signed-in')),
    baseUrl: () => 'http://localhost',
    timeouts: undefined,
  })
  await sample.routes(app)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    database,
    lines,
    emitting,
    sample,
    address,
    close: async () => {
      await Promise.all(emitting.workers.map((worker) => worker.stop(AbortSignal.timeout(2_000))))
      await app.close()
      await database.close()
      await testDatabase.drop()
    },
  }
}

onEachEngine('sample subscriber', (engine) => {
  test('verifies an emitted event and prints it in one line', async () => {
    const { database, lines, emitting, sample, address, close } = await assemble(engine)
    await sample.ensure(address)
    for (const worker of emitting.workers) worker.start()
    await database.transaction((tx) =>
      emitting.emitWithin(tx, [{ type: 'order.shipped', data: { order: 1 } }]),
    )
    const printed = once(lines, 'line')
    database.signal('deliveries')
    const [line] = (await printed) as [{ msg: string }]
    assert.equal(line.msg, 'the sample subscriber received order.shipped with a valid signature: {"order":1}')
    await close()
  })

  test('refuses everything that its secret did not sign', async () => {
    const { address, close } = await assemble(engine)
    const now = String(Math.floor(Date.now() / 1000))
    const forged = {
      'webhook-id': 'a',
      'webhook-timestamp': now,
      'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
    }
    for (const headers of [
      {},
      forged,
      { ...forged, 'webhook-timestamp': 'x' },
      { ...forged, 'content-type': 'text/plain' },
    ]) {
      const response = await fetch(`${address}/demo/subscriber`, { method: 'POST', headers, body: '{}' })
      assert.equal(response.status, 401)
    }
    await close()
  })

  test('is registered once, follows the address of the service, and keeps changes of a user', async () => {
    const { emitting, sample, close } = await assemble(engine)
    await sample.ensure('http://127.0.0.1:3000')
    await sample.ensure('http://127.0.0.1:3000')
    await emitting.subscribers.change(sampleSubscriberId, { status: 'paused' }, 'all', byService)
    await sample.ensure('http://127.0.0.1:4000')
    const { rows } = await emitting.subscribers.list({}, { limit: 10, cursor: undefined })
    assert.deepEqual(
      rows.map((row) => [row.id, row.url, row.status]),
      [[sampleSubscriberId, 'http://127.0.0.1:4000/demo/subscriber', 'paused']],
    )
    await close()
  })
})
