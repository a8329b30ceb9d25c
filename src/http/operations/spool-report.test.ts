import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../runtime/clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { SpoolStatus } from '../service-module.ts'
import { spoolReport } from './readiness.ts'

const clock: Clock = { now: () => 60_000, after: (ms, callback) => systemClock.after(ms, callback) }
const spool = (state: SpoolStatus['state']): SpoolStatus => ({ away: false, state })

test('reports the number of spooled events and the age of the oldest', async () => {
  assert.deepEqual(
    await spoolReport(
      spool(async () => ({ events: 0, oldest: undefined, full: false })),
      clock,
    ),
    {
      status: 'ok',
      events: 0,
      oldestSeconds: 0,
    },
  )
  assert.deepEqual(
    await spoolReport(
      spool(async () => ({ events: 3, oldest: 55_000, full: true })),
      clock,
    ),
    {
      status: 'full',
      events: 3,
      oldestSeconds: 5,
    },
  )
})

test('a spool that does not respond delays no request', async () => {
  const unavailable = { status: 'unavailable' }
  assert.deepEqual(
    await spoolReport(
      spool(() => Promise.withResolvers<never>().promise),
      clock,
    ),
    unavailable,
  )
  const failing = spool(() => Promise.reject(new StorageUnavailable(new Error('no route'))))
  assert.deepEqual(await spoolReport(failing, clock), unavailable)
})
