import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SessionCache } from './session-lookup.ts'

const filled = (): SessionCache<{ userId: string; n: number }> => {
  const cache = new SessionCache<{ userId: string; n: number }>(3)
  for (const [n, userId] of ['ada', 'ada', 'bob'].entries())
    cache.add(`k${n}`, { userId, n }, cache.generation)
  return cache
}

test('invalidating a user removes all of their sessions and no others', () => {
  const cache = filled()
  cache.invalidate('ada')
  assert.deepEqual([cache.get('k0'), cache.get('k1'), cache.get('k2')?.n], [undefined, undefined, 2])
  cache.invalidate(undefined)
  assert.equal(cache.size, 0)
})

test('an entry that was read before an invalidation is not cached', () => {
  const cache = filled()
  const { generation } = cache
  cache.invalidate('ada')
  cache.add('k0', { userId: 'ada', n: 0 }, generation)
  assert.equal(cache.get('k0'), undefined)
  cache.add('k0', { userId: 'ada', n: 0 }, cache.generation)
  assert.ok(cache.get('k0'))
})

test('it is bounded: the least recently used entry is removed', () => {
  const cache = filled()
  cache.get('k0')
  cache.add('k3', { userId: 'cyd', n: 3 }, cache.generation)
  assert.equal(cache.size, 3)
  assert.ok(cache.get('k0'))
  assert.equal(cache.get('k1'), undefined)
})
