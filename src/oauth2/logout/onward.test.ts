import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keyring } from '../../crypto/keyring.ts'
import { systemClock } from '../../runtime/clock.ts'
import { Onward } from './end-session-request.ts'

test('the address comes back for ten minutes, and only as it was signed', () => {
  let now = 1_000
  const clock = { ...systemClock, now: () => now }
  const onward = new Onward(new Keyring(['a-master-secret-of-thirty-two-bytes']), clock)
  const next = { url: 'https://app.example.com/bye?state=1', asks: true }
  const state = onward.state(next)
  assert.deepEqual(onward.read(state), next)
  assert.equal(onward.read(onward.state(undefined)), undefined)
  const [content, mac] = state.split('.') as [string, string]
  const changed = Buffer.from(content, 'base64url').toString().replace('app', 'evil')
  assert.equal(onward.read(`${Buffer.from(changed).toString('base64url')}.${mac}`), undefined)
  const others = new Onward(new Keyring(['another-master-secret-of-32-bytes']), clock)
  assert.equal(others.read(state), undefined)
  now += 600_000
  assert.equal(onward.read(state), undefined)
})
