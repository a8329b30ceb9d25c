import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SessionCache } from './session-cache.ts'

const filled = (): SessionCache<{ userId: string; n: number }> => {
  const cache = new SessionCache<{ userId: string; n: number }>(3)
  for (const [n, userId] of ['ada', 'ada', 'bob'].entries())
    cache.set(`k${n}`, { userId, n }, cache.generation)
  return cache
}

test('a user is forgotten with all that was kept, and nobody else', () => {
  const cache = filled()
  cache.forget('ada')
  assert.deepEqual([cache.get('k0'), cache.get('k1'), cache.get('k2')?.n], [undefined, undefined, 2])
  cache.forget(undefined)
  assert.equal(cache.size, 0)
})

test('what was read before something was forgotten is not put back', () => {
  const cache = filled()
  const { generation } = cache
  cache.forget('ada')
  cache.set('k0', { userId: 'ada', n: 0 }, generation)
  assert.equal(cache.get('k0'), undefined)
  cache.set('k0', { userId: 'ada', n: 0 }, cache.generation)
  assert.ok(cache.get('k0'))
})

test('it is bounded: the least lately used goes', () => {
  const cache = filled()
  cache.get('k0')
  cache.set('k3', { userId: 'cyd', n: 3 }, cache.generation)
  assert.equal(cache.size, 3)
  assert.ok(cache.get('k0'))
  assert.equal(cache.get('k1'), undefined)
})
