// Attackers want to be where the answer of an authorization request goes.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type Browser, engines, started } from '#test/harness/index.ts'
import { newPkce, codeGrant } from '../login/harness.ts'
import { authorizeUrl, callback, secret, token } from '../oauth2/harness.ts'
import { assertPageOfRefusal, assertRecorded, startAttackedProvider } from './provider-harness.ts'

const native = [
  'http://127.0.0.1/callback',
  'http://[::1]/callback',
  'http://localhost/callback',
  'com.example.app:/callback',
]
const spa = {
  id: 'spa',
  redirectUris: [
    callback,
    'https://app.example.com/query?tenant=1',
    'https://app.example.com/query?to=/a%20b&flag',
  ],
}

/** Texts that resemble https://app.example.com/callback and differ from it. */
const tricks = [
  '//evil.example/callback',
  '/\\evil.example',
  '\\\\evil.example',
  'https:evil.example',
  '///evil.example',
  '/%09/evil.example',
  '/%0d%0aLocation:https://evil.example',
  'javascript:alert(1)//https://app.example.com/callback',
  'data:text/html,evil',
  'callback',
  '',
  ' ',
  ` ${callback}`,
  `${callback} `,
  `${callback}\t`,
  `${callback}\n`,
  `${callback}\u0000`,
  `${callback}%00`,
  `${callback}%0d%0aLocation:%20https://evil.example`,
  `${callback}\r\nLocation: https://evil.example`,
  'http://app.example.com/callback',
  'HTTPS://APP.EXAMPLE.COM/callback',
  'https://app.example.com/Callback',
  'https://app.example.com/callback/',
  'https://app.example.com//callback',
  'https://app.example.com/./callback',
  'https://app.example.com/x/../callback',
  'https://app.example.com/callback/../evil',
  'https://app.example.com/callback/%2e%2e/evil',
  'https://app.example.com/callback/..%2fevil',
  'https://app.example.com/%63allback',
  'https%3A%2F%2Fapp.example.com%2Fcallback',
  'https%253A%252F%252Fapp.example.com%252Fcallback',
  'https://app.example.com.evil.example/callback',
  'https://evil.app.example.com/callback',
  'https://evilapp.example.com/callback',
  'https://app.example.com./callback',
  'https://app.example.com:443/callback',
  'https://app.example.com:8443/callback',
  'https://app.example.com@evil.example/callback',
  'https://evil.example@app.example.com/callback',
  'https://user:password@app.example.com/callback',
  'https://evil.example\\@app.example.com/callback',
  'https://app.example.com\\.evil.example/callback',
  'https://аpp.example.com/callback',
  'https://xn--pp-6kc.example.com/callback',
  'https://app。example.com/callback',
  'https://app.example.com/callback#',
  'https://app.example.com/callback#https://evil.example',
  'https://app.example.com/callback?',
  'https://app.example.com/callback?next=https://evil.example',
  'https://app.example.com/callback;evil',
  'https://app.example.com/query',
  'https://app.example.com/query?tenant=1&tenant=2',
  'https://app.example.com/query?tenant=1&code=evil',
  `${callback},https://evil.example`,
  `${callback} https://evil.example`,
  `${callback}${'/a'.repeat(2_000)}`,
]

/** Of a native app, whose port alone may differ. */
const nativeTricks = [
  'http://127.0.0.1:99999/callback',
  'http://127.0.0.1:/callback',
  'http://127.0.0.1:80x/callback',
  'http://127.0.0.1:1234/callback/',
  'http://127.0.0.1:1234/callback#evil',
  'http://127.0.0.1:1234/callback?evil',
  'http://127.0.0.1:1234/x/../callback',
  'http://127.0.0.1:1234@evil.example/callback',
  'http://127.0.0.1:1234\\@evil.example/callback',
  'http://127.0.0.1.evil.example/callback',
  'http://127.0.0.1:1234.evil.example/callback',
  'https://127.0.0.1:1234/callback',
  'http://127.0.0.2:1234/callback',
  'http://127.1:1234/callback',
  'http://2130706433:1234/callback',
  'http://0177.0.0.1/callback',
  'http://localhost:1234/callback',
  'http://0.0.0.0:1234/callback',
  'http://[::1%25eth0]:1234/callback',
  'http://[0:0:0:0:0:0:0:1]:1234/callback',
  'http://[::ffff:127.0.0.1]:1234/callback',
  'com.example.app://evil.example/callback',
  'com.example.app:/callback/../evil',
  'com.example.app:1234/callback',
  'COM.EXAMPLE.APP:/callback',
]

describe('redirect URIs that are not registered', () => {
  let victim: Browser
  const attacked = started(() =>
    startAttackedProvider(engines[0]!, {
      clients: [
        spa,
        { id: 'native', redirectUris: native },
        { id: 'web', redirectUris: [callback], secret },
        { id: 'evil', redirectUris: ['https://evil.example/callback'] },
      ],
    }),
  )
  before(async () => {
    victim = await attacked.browserOf('victim')
  })

  test('every variation is a page without a redirect, and recorded', async () => {
    for (const [clientId, list] of [
      ['spa', tricks],
      ['native', nativeTricks],
    ] as const)
      for (const redirectUri of list) {
        const url = authorizeUrl(attacked.service, { client_id: clientId, redirect_uri: redirectUri })
        await assertPageOfRefusal(attacked, { browser: victim, url, code: 'invalid-redirect-uri' })
      }
  })

  test('the URI of another app, and none', async () => {
    for (const redirectUri of ['https://evil.example/callback', undefined]) {
      const url = authorizeUrl(attacked.service, { redirect_uri: redirectUri })
      await assertPageOfRefusal(attacked, { browser: victim, url, code: 'invalid-redirect-uri' })
    }
  })

  test('twice, in any order, as arrays, and under names that look alike', async () => {
    const evil = 'https://evil.example/callback'
    const base = authorizeUrl(attacked.service, { redirect_uri: undefined }).href
    for (const query of [
      `redirect_uri=${callback}&redirect_uri=${evil}`,
      `redirect_uri=${evil}&redirect_uri=${callback}`,
      `redirect_uri=${callback}&redirect_uri=${callback}`,
      `redirect_uri=${callback}&redirect%5Furi=${evil}`,
      `redirect_uri[]=${callback}`,
      `redirect_uri[0]=${callback}`,
      `Redirect_Uri=${callback}`,
      `redirect_uri%00=${callback}`,
    ])
      await assertPageOfRefusal(attacked, {
        browser: victim,
        url: new URL(`${base}&${query}`),
        code: 'invalid-redirect-uri',
      })
  })

  test('a body and a query that differ: the body of POST counts alone', async () => {
    const url = authorizeUrl(attacked.service)
    const body = new URLSearchParams(url.searchParams)
    body.set('redirect_uri', 'https://evil.example/callback')
    await assertRecorded(attacked, { action: 'app.refused', code: 'invalid-redirect-uri' }, async () => {
      const answer = await victim.go(url, { method: 'POST', body })
      assert.equal(answer.status, 400)
      assert.equal(answer.headers.get('location'), null)
    })
    const polluted = authorizeUrl(attacked.service, { redirect_uri: 'https://evil.example/callback' })
    const posted = await victim.go(polluted, { method: 'POST', body: url.searchParams })
    const answer = await victim.go(new URL(posted.headers.get('location')!, attacked.service.baseUrl))
    assert.ok(answer.headers.get('location')!.startsWith(`${callback}?code=`))
  })

  test('a pushed request with a URI that is not registered', async () => {
    for (const redirectUri of ['https://evil.example/callback', `${callback}/`]) {
      const body = authorizeUrl(attacked.service, { redirect_uri: redirectUri }).searchParams
      await assertRecorded(
        attacked,
        { action: 'app.refused', code: 'invalid-redirect-uri', target: 'app:spa' },
        async () => {
          const answer = await attacked.service.fetch('/oauth2/par', { method: 'POST', body })
          assert.equal(answer.status, 400)
          const problem = (await answer.json()) as { error: string; error_description: string }
          assert.equal(problem.error, 'invalid_request')
          assert.match(problem.error_description, /^redirect_uri: .*not registered/)
        },
      )
    }
  })

  test('what an app registered gets the answer: any port of loopback, schemes, and its own query', async () => {
    for (const [clientId, redirectUri] of [
      ['native', 'http://127.0.0.1:51004/callback'],
      ['native', 'http://127.0.0.1/callback'],
      ['native', 'http://[::1]:65535/callback'],
      ['native', 'com.example.app:/callback'],
      ['spa', 'https://app.example.com/query?tenant=1'],
      ['spa', 'https://app.example.com/query?to=/a%20b&flag'],
    ] as const) {
      const url = authorizeUrl(attacked.service, { client_id: clientId, redirect_uri: redirectUri })
      const answer = await victim.go(url)
      const location = answer.headers.get('location')!
      assert.ok(location.startsWith(redirectUri), location)
      assert.ok(new URL(location).searchParams.get('code'))
    }
  })

  test('a code for one port of loopback is not exchanged with another', async () => {
    const pkce = newPkce()
    const more = { client_id: 'native', redirect_uri: 'http://127.0.0.1:51004/callback' }
    const answer = await victim.go(authorizeUrl(attacked.service, more, pkce))
    const code = new URL(answer.headers.get('location')!).searchParams.get('code')!
    const entry = { action: 'tokens.refused', code: 'invalid-grant', target: 'app:native' }
    await assertRecorded(attacked, entry, async () => {
      const { body } = await token(
        attacked.service,
        codeGrant(code, pkce, { client_id: 'native', redirect_uri: 'http://127.0.0.1:51005/callback' }),
      )
      assert.equal(body['error'], 'invalid_grant')
    })
  })

  test('an unknown app, one that came twice, and names that every object has', async () => {
    for (const id of ['nobody', '', '__proto__', 'constructor', 'SPA', ' spa', 'spa\u0000', '\uD800'])
      await assertPageOfRefusal(attacked, {
        browser: victim,
        url: authorizeUrl(attacked.service, { client_id: id }),
        code: 'invalid-client-id',
      })
    const twice = new URL(`${authorizeUrl(attacked.service).href}&client_id=evil`)
    await assertPageOfRefusal(attacked, { browser: victim, url: twice, code: 'invalid-client-id' })
  })
})
