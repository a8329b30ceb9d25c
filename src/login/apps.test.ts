import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateApps } from './apps.ts'

test('a wrong redirect URI is reported with its reason', () => {
  const faultOf = (uri: string): string => validateApps([{ id: 'spa', redirectUris: [uri] }]).join()
  assert.equal(faultOf('com.example.app:/callback'), '')
  assert.match(faultOf('/callback'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('https://app.example/callback#x'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('javascript:alert(1)'), /must not have the scheme javascript:$/)
})
