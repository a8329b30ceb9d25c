// The receiver of the audit log does not accept it, and the clock is set back meanwhile.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { AuditForwarder } from '../../src/accounts/audit-forwarding/index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { onEachEngine } from '../harness/engines.ts'
import { ManualClock } from '../harness/manual-clock.ts'

onEachEngine('forwarding of the audit log', (engine) => {
  test('goes on after the pause, also if the clock is set back', async () => {
    const home = await engine.createMigratedDatabase()
    const database = await openDatabase(home.url)
    const steady = new ManualClock()
    let ahead = 10 * 3_600_000
    const clock: Clock = { now: () => steady.now() + ahead, after: (...timer) => steady.after(...timer) }
    let sent = 0
    const forwarder = new AuditForwarder({
      database,
      clock,
      log: createLog('silent'),
      metrics: new Metrics(),
      url: 'https://siem.example.com/',
      destination: {
        async send() {
          sent += 1
          throw new Error('no connection')
        },
        close: async () => undefined,
      },
    })
    /** Lets seconds pass, each of which begins a round, until a batch was sent. */
    const untilSent = async (): Promise<void> => {
      const before = sent
      for (let seconds = 0; sent === before; seconds += 1) {
        assert.ok(seconds < 3_000, 'nothing was sent for most of an hour')
        steady.pass(1_000)
        await wait(5)
      }
    }
    try {
      const record = createRecordAudit(clock)
      await database.transaction((tx) => record(tx, { action: 'key.created', actor: 'test' }))
      forwarder.start()
      await untilSent()
      ahead -= 3_600_000
      await untilSent()
    } finally {
      await forwarder.stop(new AbortController().signal)
      await database.close()
      await home.drop()
    }
  })
})
