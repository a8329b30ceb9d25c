// Group 7 and 18 once more, with a stock mock of a provider that others wrote: what we forge ourselves we might also
// accept by our own misreading.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { OAuth2Server, type MutableResponse, type MutableToken } from 'oauth2-mock-server'
import { Browser, engines, startTestService, type TestService } from '#test/harness/index.ts'
import { assertFails, signIn, upToCallback, whoAmI } from '../login/harness.ts'

describe('a stock mock provider that misbehaves', () => {
  const provider = new OAuth2Server()
  let service: TestService

  before(async () => {
    await provider.issuer.keys.generate('RS256')
    await provider.start(0, '127.0.0.1')
    const env = {
      ACME_CLIENT_ID: 'client',
      ACME_CLIENT_SECRET: 'secret',
      ACME_ISSUER: provider.issuer.url!,
    }
    service = await startTestService(engines[0]!, { env })
  })
  beforeEach(() => {
    for (const event of ['beforeTokenSigning', 'beforeResponse', 'beforeUserinfo'])
      provider.service.removeAllListeners(event)
  })
  after(async () => {
    await service.close()
    await provider.stop()
  })

  const onToken = (change: (token: MutableToken) => void) => provider.service.on('beforeTokenSigning', change)
  const onAnswer = (event: 'beforeResponse' | 'beforeUserinfo', change: (answer: MutableResponse) => void) =>
    provider.service.on(event, change)
  const isRefused = async (code = 'provider-answer-invalid'): Promise<void> => {
    const browser = new Browser()
    await assertFails(service, browser, await upToCallback(service, browser), code)
  }

  test('without a fault it signs in, so that the following tests fail for their own reason', async () => {
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    assert.ok(await whoAmI(service, browser))
  })

  const now = Math.floor(Date.now() / 1000)
  const claims: [string, Record<string, unknown>][] = [
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'somebody-else' }],
    ['an expired token', { iat: now - 7_200, exp: now - 3_600 }],
    ['a token of the future', { nbf: now + 3_600 }],
    ['another nonce', { nonce: 'replayed' }],
    ['no subject', { sub: undefined }],
    ['a subject that is no text', { sub: 7 }],
  ]
  for (const [title, wrong] of claims) {
    test(`${title} is refused`, async () => {
      onToken(({ payload }) => void Object.assign(payload, wrong))
      await isRefused()
    })
  }

  test('the userinfo of another subject is refused', async () => {
    onAnswer('beforeUserinfo', (answer) => void (answer.body = { sub: 'victim', name: 'Victim' }))
    await isRefused()
  })

  test('a token endpoint without tokens, or without a response, signs nobody in', async () => {
    onAnswer('beforeResponse', (answer) => void (answer.body = { token_type: 'Bearer' }))
    await isRefused('provider-refused')
    provider.service.removeAllListeners('beforeResponse')
    onAnswer('beforeResponse', (answer) => {
      answer.body = { error: 'invalid_grant' }
      answer.statusCode = 400
    })
    await isRefused('provider-refused')
    provider.service.removeAllListeners('beforeResponse')
    onAnswer('beforeResponse', (answer) => void (answer.statusCode = 503))
    await isRefused('provider-unavailable')
  })
})
