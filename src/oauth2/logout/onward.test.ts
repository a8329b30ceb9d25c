import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keyring } from '../../crypto/keyring.ts'
import { systemClock } from '../../runtime/clock.ts'
import { onwardState, readOnward } from './end-session-routes.ts'

test('the address comes back for ten minutes, and only as it was signed', () => {
  let now = 1_000
  const clock = { ...systemClock, now: () => now }
  const parts = { keyring: new Keyring(['a-master-secret-of-thirty-two-bytes']), clock }
  const next = { url: 'https://app.example.com/bye?state=1', asks: true }
  const state = onwardState(parts, next)
  assert.deepEqual(readOnward(parts, state), next)
  assert.equal(readOnward(parts, onwardState(parts, undefined)), undefined)
  const [content, mac] = state.split('.') as [string, string]
  const changed = Buffer.from(content, 'base64url').toString().replace('app', 'evil')
  assert.equal(readOnward(parts, `${Buffer.from(changed).toString('base64url')}.${mac}`), undefined)
  const others = { keyring: new Keyring(['another-master-secret-of-32-bytes']), clock }
  assert.equal(readOnward(others, state), undefined)
  now += 600_000
  assert.equal(readOnward(parts, state), undefined)
})
