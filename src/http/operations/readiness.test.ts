import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { App } from '../app.ts'
import type { SpoolStatus } from '../service-module.ts'
import { readReadiness, type ReadinessParts } from './readiness.ts'

const app = { closing: { begun: false }, outage: {} } as App
const common = {
  database: { ping: () => Promise.resolve() },
  workers: [],
  clock: new ManualClock(),
} as unknown as ReadinessParts

const forWebhooks = async (spool: SpoolStatus): Promise<[number, string]> => {
  const { code, body } = await readReadiness(app, { ...common, spool }, true)
  return [code, body.status]
}

test('webhooks are not acknowledged while they go to a spool that takes none', async () => {
  const silent = (): Promise<never> => Promise.reject(new StorageUnavailable(new Error('no route')))
  const full = () => Promise.resolve({ events: 1, oldest: 0, full: true })
  const empty = () => Promise.resolve({ events: 0, oldest: undefined, full: false })
  assert.deepEqual(await forWebhooks({ away: true, state: silent }), [503, 'unavailable'])
  assert.deepEqual(await forWebhooks({ away: true, state: full }), [503, 'unavailable'])
  assert.deepEqual(await forWebhooks({ away: true, state: empty }), [200, 'spooling'])
  assert.deepEqual(await forWebhooks({ away: false, state: silent }), [200, 'ready'])
})
