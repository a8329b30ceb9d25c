import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import type { Database } from '../storage/database.ts'
import { createLog } from '../telemetry/log.ts'
import { JobWorker } from './jobs.ts'

test('while another process performs a step, a worker looks again after a pause', async () => {
  let looks = 0
  // Every query finds a job that is due, and every transaction finds its row locked.
  const query: unknown = new Proxy(
    {},
    {
      get: (_, name) =>
        name === 'executeTakeFirst' ? () => Promise.resolve({ due: 1_000 }) : (): unknown => query,
    },
  )
  const inBackground = (): Promise<undefined> => {
    looks += 1
    return Promise.resolve(undefined)
  }
  const database = { reader: query, inBackground, onSignal: () => () => undefined }
  const timers: number[] = []
  const worker = new JobWorker({
    name: 'replays',
    kind: 'replay',
    step: () => Promise.reject(new Error('another process performs it')),
    database: database as unknown as Database,
    clock: {
      now: () => 5_000,
      after(ms) {
        timers.push(ms)
        return () => undefined
      },
    },
    log: createLog('fatal'),
  })
  worker.start()
  await setImmediate()
  assert.deepEqual(timers, [100], 'the next turn, before the poll')
  assert.equal(looks, 1)
  await worker.stop()
})
