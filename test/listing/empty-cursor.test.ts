import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine, startedService } from '../harness/index.ts'

onEachEngine('an empty cursor', (engine) => {
  let subscriber: string

  const service = startedService(engine)
  before(async () => {
    const made = await service.admin('/subscribers', {
      method: 'POST',
      json: { url: 'http://127.0.0.1:9/' },
    })
    subscriber = ((await made.json()) as { id: string }).id
  })

  // Absent is the first page. An empty one is what a client sends that lost the cursor: page 1 again would be an
  // endless walk, so it is refused like every other text that was never given out.
  test('is 400 that names the parameter', async () => {
    for (const path of [
      '/events',
      '/products',
      '/api/posts',
      '/subscribers',
      `/subscribers/${subscriber}/deliveries`,
      '/audit',
    ]) {
      assert.equal((await service.admin(path)).status, 200, path)
      for (const query of ['cursor=', 'cursor', 'limit=5&cursor=']) {
        const response = await service.admin(`${path}?${query}`)
        assert.equal(response.status, 400, `${path}?${query}`)
        const { code, source } = (await response.json()) as { code: string; source: { parameter: string } }
        assert.deepEqual([code, source.parameter], ['invalid-cursor', 'cursor'])
      }
    }
  })
})
