// Any text as an authorization request, and any header and form as the credentials of a client.
import { withQuery } from '../../http/requests/parameters.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { propertyRun } from '#test/harness/properties.ts'
import { Problem } from '../../errors.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import { clientOf } from '../clients/client.ts'
import { AuthorizationError } from '../oauth-error.ts'
import type { Parameters } from './authorization-requests.ts'
import { parseRequest, returnAddress } from './request-parameters.ts'
import { answerParameters } from './authorize-route.ts'

const callback = 'https://app.example.com/callback'
const registered = [callback, 'https://app.example.com/q?a=1', 'http://127.0.0.1/cb', 'com.example.app:/cb']
const settings = { redirectUris: registered, scopes: ['openid', 'email'], audiences: ['https://api.example'] }
const clients = [
  clientOf({ id: 'public', ...settings }),
  clientOf({ id: 'confidential', secret: 'a-secret-of-thirty-two-characters', ...settings }),
]

const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWBuGJSstw-cM'
/** A request that is accepted. */
const valid: Parameters = Object.entries({
  client_id: 'public',
  redirect_uri: callback,
  response_type: 'code',
  scope: 'openid',
  state: 'the-state',
  nonce: 'n',
  code_challenge: challenge,
  code_challenge_method: 'S256',
})
const names = [
  ...valid.map(([name]) => name),
  'resource',
  'prompt',
  'max_age',
  'response_mode',
  'login_hint',
  'id_token_hint',
  'acr_values',
  'request',
  'request_uri',
  'registration',
  'provider',
  '__proto__',
  'constructor',
  '',
]
const values = [
  ...registered,
  'http://127.0.0.1:51004/cb',
  'http://127.0.0.1:99999/cb',
  'https://api.example',
  'openid email',
  'none',
  'login consent',
  'form_post',
  'plain',
  '0',
  '\u0000',
  'é"\\\r\n',
]
const parameter = fc.tuple(
  fc.oneof(fc.constantFrom(...names), fc.string()),
  fc.oneof(fc.constantFrom(...values), fc.string({ unit: 'binary' }), fc.webUrl()),
)
/** The valid request without some parameters, with some others, in any order. */
const request = fc
  .tuple(fc.subarray([...valid]), fc.array(parameter, { maxLength: 6 }), fc.boolean())
  .chain(([some, more, whole]) => {
    const all = [...(whole ? valid : some), ...more]
    return fc.shuffledSubarray(all, { minLength: all.length })
  })

const errors = new Set([
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
  'unsupported_response_type',
])

/** The same URI, but for the port of a loopback address. */
function isRegistered(uri: string): boolean {
  const portless = uri.replace(/^(http:\/\/127\.0\.0\.1):\d+(?=\/)/, '$1')
  return (
    registered.includes(uri) || (portless.startsWith('http://127.0.0.1/') && registered.includes(portless))
  )
}

test('any request: a registered address or none, and only what the client may ask for', (context) => {
  fc.assert(
    fc.property(fc.constantFrom(...clients), request, (client, parameters) => {
      let address
      try {
        address = returnAddress(client, parameters)
      } catch (error) {
        assert.ok(error instanceof Problem, String(error))
        return
      }
      assert.ok(isRegistered(address.redirectUri), address.redirectUri)
      const answer = answerParameters(address, { code: 'c' }, 'https://issuer.example')
      const target = new URL(withQuery(address.redirectUri, answer))
      const own = new URL(address.redirectUri)
      assert.deepEqual([target.origin, target.pathname], [own.origin, own.pathname])
      assert.deepEqual(target.searchParams.getAll('iss'), ['https://issuer.example'])
      assert.equal(target.searchParams.get('state'), address.state)
      try {
        const wanted = parseRequest(client, address, parameters)
        assert.ok(wanted.challenge !== null || client.confidential)
        assert.ok(wanted.scope.split(' ').every((one) => one === '' || client.scopes.includes(one)))
        assert.ok(wanted.resource === null || client.audiences.includes(wanted.resource))
        const texts = [wanted.state, wanted.nonce, wanted.loginHint]
        assert.ok(texts.every((text) => !text || isStorableText(text)))
      } catch (error) {
        assert.ok(error instanceof AuthorizationError, String(error))
        assert.ok(errors.has(error.error), error.error)
        // RFC 6749, section 4.1.2.1.
        assert.match(error.message, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      }
    }),
    propertyRun(context),
  )
})
