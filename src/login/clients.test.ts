import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateClients } from './clients.ts'

test('a wrong redirect URI is reported with its reason', () => {
  const faultOf = (uri: string): string => validateClients([{ id: 'spa', redirectUris: [uri] }]).join()
  assert.equal(faultOf('com.example.app:/callback'), '')
  assert.match(faultOf('/callback'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('https://app.example/callback#x'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('javascript:alert(1)'), /must not have the scheme javascript:$/)
})
