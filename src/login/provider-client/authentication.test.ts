import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAuthentication, ReauthenticationUnproven } from './profile.ts'

const now = 1_800_000_000_000
const seconds = now / 1000
const ordinary = { now, provable: true, askedAt: undefined }
const asked = { now, provable: true, askedAt: now - 30_000 }

describe('time and method of the authentication', () => {
  test('auth_time is used when present', () => {
    const { at, proof } = parseAuthentication({ auth_time: seconds - 3_600 }, ordinary)
    assert.deepEqual([at, proof], [now - 3_600_000, 'verified'])
  })

  test('without auth_time the time of the sign-in is asserted, not verified', () => {
    assert.equal(parseAuthentication({}, ordinary).proof, 'asserted')
    assert.equal(parseAuthentication({}, asked).proof, 'asserted')
    assert.equal(parseAuthentication({}, { ...ordinary, provable: false }).proof, 'asserted')
    assert.equal(parseAuthentication({}, { ...asked, provable: false }).proof, 'asserted')
  })

  test('a future auth_time is not a proof; a small clock difference is tolerated', () => {
    assert.deepEqual(parseAuthentication({ auth_time: seconds + 61 }, ordinary).proof, 'unproven')
    const { at, proof } = parseAuthentication({ auth_time: seconds + 60 }, ordinary)
    assert.deepEqual([at, proof], [now, 'verified'])
  })

  test('after a request to reauthenticate, auth_time must not be earlier', () => {
    for (const time of [seconds - 90, seconds - 30, seconds])
      assert.equal(parseAuthentication({ auth_time: time }, asked).proof, 'verified')
    for (const time of [seconds - 91, seconds + 61, 0, -1, null, `${seconds}`, Number.NaN])
      assert.throws(() => parseAuthentication({ auth_time: time }, asked), ReauthenticationUnproven)
  })

  test('acr and amr are stored unchanged or not at all', () => {
    const stored = (claims: Record<string, unknown>): (string | null)[] => {
      const { acr, amr } = parseAuthentication(claims, ordinary)
      return [acr, amr]
    }
    assert.deepEqual(stored({ acr: 'gold', amr: ['pwd', 'mfa'] }), ['gold', 'pwd mfa'])
    assert.deepEqual(stored({ acr: '1', acrs: ['c1', 'c2'] }), ['1 c1 c2', null])
    for (const [acr, amr] of [
      ['a b', 'mfa'],
      [7, ['a b']],
      ['', ['', 7, null]],
      ['x'.repeat(501), [['mfa']]],
      [null, Array.from({ length: 200 }, () => 'mfa')],
    ])
      assert.deepEqual(stored({ acr, amr }), [null, null])
  })
})
