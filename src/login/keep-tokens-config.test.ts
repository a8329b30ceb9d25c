import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveLoginConfig } from './config.ts'

const credentials = { clientId: 'id', clientSecret: 'secret' }

function requestOf(name: string, keepTokens: boolean | { scope: string }, authParams = {}) {
  const config = { providers: { [name]: { ...credentials, authParams, keepTokens } } }
  const { providers, faults } = resolveLoginConfig(config, [])
  assert.deepEqual(faults, [])
  const [provider] = providers
  return { scope: provider!.scope.split(' '), authParams: provider!.authParams }
}

const wanted: [name: string, scope: string | undefined, authParams: Record<string, string>][] = [
  ['google', undefined, { access_type: 'offline', prompt: 'consent' }],
  ['dropbox', undefined, { token_access_type: 'offline' }],
  ['reddit', undefined, { duration: 'permanent' }],
  ['x', 'offline.access', {}],
  ['microsoft', 'offline_access', {}],
]
for (const [name, scope, authParams] of wanted) {
  test(`${name} is asked for a refresh token only if its tokens are stored`, () => {
    const plain = requestOf(name, false)
    const withTokens = requestOf(name, true)
    assert.deepEqual(withTokens.authParams, { ...plain.authParams, ...authParams })
    assert.deepEqual(withTokens.scope, scope === undefined ? plain.scope : [...plain.scope, scope])
    assert.notDeepEqual(withTokens, plain)
    for (const parameter of Object.keys(authParams)) assert.ok(!(parameter in plain.authParams))
  })
}

test('additional scopes are added once each, and configured parameters stay', () => {
  const { scope, authParams } = requestOf('google', { scope: 'email calendar' }, { prompt: 'select_account' })
  assert.deepEqual(scope, ['openid', 'email', 'profile', 'calendar'])
  assert.deepEqual(authParams, { access_type: 'offline', prompt: 'select_account' })
})
