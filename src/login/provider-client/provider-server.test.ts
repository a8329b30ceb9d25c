import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/harness/manual-clock.ts'
import { ProviderServerCache, type ProviderServerParts } from './provider-server.ts'

test('a clock that is set back makes the pause after a failed discovery no longer', async () => {
  const clock = new ManualClock()
  let asked = 0
  const server = new ProviderServerCache({
    provider: { name: 'idp', kind: 'openid', issuer: 'https://idp.example', clientId: 'a', quirks: {} },
    fetch: async () => {
      asked += 1
      throw new Error('no connection')
    },
    allowPrivateNetwork: false,
    clock,
    timeout: 5,
  } as unknown as ProviderServerParts)
  await assert.rejects(server.current(), { name: 'DiscoveryFailed' })
  const first = asked
  assert.ok(first > 0)
  await assert.rejects(server.current(), { name: 'DiscoveryFailed' })
  assert.equal(asked, first, 'not asked again at once')
  clock.time -= 3_600_000
  await assert.rejects(server.current(), { name: 'DiscoveryFailed' })
  assert.ok(asked > first)
})
