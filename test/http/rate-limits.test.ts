import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'

test('an address that calls too often is told so, and when to come back', async (t) => {
  const service = await startTestService(engines[0]!, { env: { RATE_LIMIT: 'on' } })
  t.after(() => service.close())
  const first = await service.fetch('/healthz')
  const limit = Number(first.headers.get('ratelimit-limit'))
  assert.ok(limit > 0, 'the limit is told from the first answer on')
  let refused: Response | undefined
  for (let count = 0; count < limit && !refused; count += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.fetch('/healthz')))
    refused = answers.find(({ status }) => status === 429)
  }
  assert.ok(refused, `no refusal after ${limit} calls`)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal(((await refused.json()) as { code: string }).code, 'too-many-requests')
  // A header that anybody can write does not make one somebody else.
  const disguised = await service.fetch('/healthz', { headers: { 'x-forwarded-for': '203.0.113.7' } })
  assert.equal(disguised.status, 429)
})
