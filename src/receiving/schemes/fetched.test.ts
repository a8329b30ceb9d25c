import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fetched } from './fetched.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const hour = 3_600_000

/** Keys of a host that answers with these statuses, one after the other; undefined is no answer. */
function keysOf(...statuses: (number | undefined)[]) {
  const fetched = new Fetched({
    request: (key) => ({ url: `https://keys.example.com/${key}` }),
    parse: (text) => text,
    lifetime: hour,
  })
  let requests = 0
  const want = async (at: number): Promise<'value' | 'rejected' | 'failed'> => {
    const found = fetched.at('a', at)
    if ('value' in found) return 'value'
    if ('rejected' in found) return 'rejected'
    try {
      await found.fetchFirst(async () => {
        requests += 1
        const status = statuses.shift()
        if (status === undefined) throw new Error('no answer')
        return new Response('key', { status })
      })
    } catch {
      return 'failed'
    }
    const after = fetched.at('a', at)
    return 'value' in after ? 'value' : 'rejected' in after ? 'rejected' : 'failed'
  }
  return { fetched, want, requests: () => requests }
}

test('a key whose host did not answer is fetched again soon, also after the clock was set back', async () => {
  for (const at of [now + 5_000, now - 5_000, now - hour]) {
    const { want, requests } = keysOf(undefined, 200)
    assert.equal(await want(now), 'failed')
    assert.equal(await want(now + 4_999), 'failed')
    assert.equal(requests(), 1, 'not within five seconds')
    assert.equal(await want(at), 'value')
    assert.equal(requests(), 2)
  }
})

test('a key that did not exist is fetched again, also after the clock was set back', async () => {
  for (const at of [now + 30_000, now - hour]) {
    const { want, requests } = keysOf(404, 200)
    assert.equal(await want(now), 'rejected')
    assert.equal(await want(now + 29_999), 'rejected')
    assert.equal(requests(), 1, 'not within half a minute')
    assert.equal(await want(at), 'value')
  }
})

test('a clock that was set back makes no value last', async () => {
  const { fetched, want, requests } = keysOf(200, 200, undefined)
  assert.equal(await want(now), 'value')
  assert.equal(await want(now - hour + 1), 'value')
  assert.equal(requests(), 1)
  assert.equal(fetched.again('a', now - 29_999), undefined)
  assert.ok(fetched.again('a', now - 30_000))
  assert.equal(await want(now - hour), 'value')
  assert.equal(requests(), 2)
  // While its host does not answer, an old value verifies for a day.
  assert.equal(await want(now - 3 * hour), 'value')
  assert.equal(requests(), 3)
})
