import assert from 'node:assert/strict'
import { test } from 'node:test'
import { en } from '../../http/pages/language/en.ts'
import { consentPage } from './consent-page.ts'

test('the page names the app, its host and each scope, and escapes what the app chose', () => {
  const page = consentPage({
    view: {
      site: {
        basePath: '/gate',
        name: 'Postern',
        plainName: 'Postern',
        logo: '/gate/assets/icon.svg',
        colored: false,
        links: {},
      },
      language: 'en',
      words: en,
      referenceId: '0a1b2c3d',
    },
    client: { selfRegistered: false, id: 'forum', name: 'Forum <b>of Ada</b>' },
    redirectUri: 'https://forum.example.com:8443/callback?x=1',
    scope: 'openid email orders:<i>read</i>',
    resource: 'https://api.example.com',
    signedInAs: 'Ada & Co',
    fields: { proof: '"><script>' },
  })
  assert.match(page, /Forum &lt;b&gt;of Ada&lt;\/b&gt;/)
  assert.match(page, /<code>forum\.example\.com:8443<\/code>/)
  assert.match(page, /<li>Recognize you by an ID<\/li>/)
  assert.match(page, /<li>See your email address<\/li>/)
  assert.match(page, /<li>Use <code>orders:&lt;i&gt;read&lt;\/i&gt;<\/code><\/li>/)
  assert.match(page, /signed in as <strong>Ada &amp; Co<\/strong>/)
  assert.match(page, /action="\/gate\/oauth2\/consent"/)
  assert.match(page, /value="&quot;&gt;&lt;script&gt;"/)
  assert.doesNotMatch(page, /<script>|<b>|<i>/)
})
