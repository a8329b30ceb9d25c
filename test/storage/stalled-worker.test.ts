// Connections and requests work, but workers stall: the process is not ready, and recovers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { emit, subscribe } from '../emitting/harness.ts'
import { onPostgres, postgres, scoped, startReceiver, startTestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from '../receiving/harness.ts'

type Readiness = AnswerTo<'GET /readyz'>

test(
  'stalled workers: not ready within 15 s; long queues and long handlers do not count',
  onPostgres,
  async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using receiver = await startReceiver()
    const gate = Promise.withResolvers<void>()
    let begun = 0
    await using service = await startTestService(postgres!, {
      databaseUrl: home.url,
      env: { HANDLER_TIMEOUT: '600', ALLOW_PRIVATE_NETWORK: 'true' },
      handlers: {
        async long(event, { tx }) {
          begun += 1
          await gate.promise
          await writeEffect(tx, event.id)
        },
      },
    })
    await using other = scoped(new pg.Client({ connectionString: home.url }))
    await other.connect()
    const readiness = async (): Promise<Readiness & { code: number }> => {
      const response = await service.fetch('/readyz')
      return { ...((await response.json()) as Readiness), code: response.status }
    }
    try {
      await createEffects(service.database)
      for (let n = 0; n < 30; n += 1) await postWebhook(service, { id: `event-${n}`, type: 'long' })
      await eventually(() => begun > 0)
      // All places of the handler are taken, and others wait.
      const ready = await readiness()
      assert.equal(ready.code, 200, JSON.stringify(ready))
      assert.ok(ready.lastRoundSeconds!['handlers']! < 10 && ready.lastRoundSeconds!['deliveries']! < 10)

      // What is read is answered, but no lane can be taken.
      await subscribe(service, { url: receiver.url })
      const locked = performance.now()
      await other.query('begin; lock table queue_owners in share mode')
      await emit(service, { type: 'went.out', data: 1 })
      const stalled = await eventually(async () => {
        const answer = await readiness()
        return answer.code === 503 ? answer : undefined
      }, 'it is not ready')
      assert.equal(stalled.status, 'stalled')
      assert.equal(stalled.database, 'ok')
      const { deliveries } = stalled.lastRoundSeconds!
      const sinceLocked = (performance.now() - locked) / 1000
      assert.ok(deliveries! > 10 && deliveries! < sinceLocked + 10, `${deliveries} of ${sinceLocked} s`)
      await other.query('rollback')
      await eventually(async () => (await readiness()).code === 200, 'it is ready again')
      await receiver.waitFor(1)
      gate.resolve()
      await eventually(async () => (await readEffects(service.database)).length === 30, 'all is done')
    } finally {
      gate.resolve()
    }
  },
)
