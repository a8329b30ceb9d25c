import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines, startTestService } from '../harness/index.ts'

test('/readyz leaves the workers out with for=webhooks only', async () => {
  await using service = await startTestService(engines[0]!)
  const reportsWorkers = async (query: string): Promise<boolean> =>
    'lastRoundSeconds' in ((await (await service.fetch(`/readyz${query}`)).json()) as object)
  assert.equal(await reportsWorkers('?for=webhooks'), false)
  assert.equal(await reportsWorkers(''), true)
  assert.equal(await reportsWorkers('?for=anything'), true)
})
