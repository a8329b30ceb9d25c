import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateClients } from './client-faults.ts'

test('a wrong redirect URI is reported with its reason', () => {
  const faultOf = (uri: string): string => validateClients([{ id: 'spa', redirectUris: [uri] }]).join()
  assert.equal(faultOf('com.example.app:/callback'), '')
  assert.match(faultOf('/callback'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('https://app.example/callback#x'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('https://app.example/callback#'), /must be an absolute URL without a fragment$/)
  assert.match(faultOf('javascript:alert(1)'), /must not have the scheme javascript:$/)
  assert.match(faultOf('view-source:https://app.example/'), /must not have the scheme view-source:$/)
  for (const uri of [
    'https://app.example/a\r\nb',
    'https://app.example/a b',
    'https://app.example/ä',
    'https://app.example\\@evil.example/',
    'https:/\\evil.example/',
    'https://app.example/<x>',
  ])
    assert.match(faultOf(uri), /must percent-encode spaces, line breaks, backslashes/, uri)
  for (const uri of ['https:app.example', 'https:/app.example/', 'https:///app.example/', 'HTTP:app.example'])
    assert.match(faultOf(uri), /must have \/\/ and a host after its scheme$/, uri)
  for (const uri of [
    'https://*.app.example/',
    'https://*/',
    'https://app.*/x',
    'com.example.app://*/callback',
  ])
    assert.match(faultOf(uri), /must name one host, without \*$/)
  assert.equal(faultOf('https://app.example/a*b?c=*'), '')
})

test('an address for sign-outs is one that can be called', () => {
  const faultOf = (backchannelLogoutUri: string): string =>
    validateClients([{ id: 'spa', redirectUris: ['https://app.example/'], backchannelLogoutUri }]).join()
  for (const uri of ['https://app.example/logout?a=b', 'http://10.0.0.1:8080/logout'])
    assert.equal(faultOf(uri), '')
  for (const [uri, words] of [
    ['https://app..example/logout', /two dots/],
    ['https://*.app.example/logout', /`\*`/],
    ['https://user:pass@app.example/logout', /credentials/],
    ['com.example.app:/logout', /whole http or https URL/],
    ['https://app.example/ logout', /percent-encode/],
  ] as const)
    assert.match(faultOf(uri), words, uri)
})

test('a name must be visible', () => {
  const faultOf = (name: string): string =>
    validateClients([{ id: 'spa', redirectUris: ['https://app.example/'], name }]).join()
  const invisible = [
    '',
    ' ',
    '\u200b',
    '\u00ad\u2060\ufeff',
    '\u3164',
    '\uffa0\u115f',
    '\u2800',
    '\u{e0041}',
    ' \u0301',
    '\ue000',
    '\u180e',
  ]
  for (const name of invisible)
    assert.match(faultOf(name), /name of spa must be a visible text/, JSON.stringify(name))
  for (const name of ['Notes', '7', 'نام\u200cها', '👩‍💻', '노트', '+']) assert.equal(faultOf(name), '', name)
})

test('a public client cannot get tokens without a user, and short secrets are refused', () => {
  const redirectUris = ['https://app.example/callback']
  assert.match(
    validateClients([{ id: 'job', clientCredentials: true }]).join(),
    /clientCredentials of job needs/,
  )
  assert.match(
    validateClients([{ id: 'web', redirectUris, secret: 'short' }]).join(),
    /at least 20 characters/,
  )
  assert.deepEqual(validateClients([{ id: 'job', clientCredentials: true, secret: 'x'.repeat(32) }]), [])
})

test('an empty list of secrets is refused: the app would be public', () => {
  const redirectUris = ['https://app.example/callback']
  for (const secret of [[], '', ['']])
    assert.match(validateClients([{ id: 'web', redirectUris, secret }]).join(), /secret of web must have/)
})
