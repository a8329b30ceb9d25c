// oauth4webapi as it is: each step of a sign-in, with every check of its own, and access tokens by RFC 9068.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { Browser, onOneEngine } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

const redirectUri = 'https://web.example.com/callback'

onOneEngine('oauth4webapi', (engine) => {
  const stock = useStockService(engine, () => [
    { id: 'api', secret: webSecret, redirectUris: [redirectUri], audience: 'https://api.example.com' },
  ])

  test('signs in, and an API accepts the access token', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(stock.service.baseUrl)
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, insecure),
    )
    const client = { client_id: 'api' }
    const authentication = oauth.ClientSecretPost(webSecret)
    const [verifier, state, nonce] = [
      oauth.generateRandomCodeVerifier(),
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
    ]
    const url = new URL(server.authorization_endpoint!)
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      max_age: '600',
    }).toString()
    const callback = await toApp(stock.service, new Browser(), url, redirectUri)
    const answer = oauth.validateAuthResponse(server, client, callback, state)
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      answer,
      redirectUri,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      maxAge: 600,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(server, response, insecure)
    const subject = oauth.getValidatedIdTokenClaims(tokens)!.sub
    const info = await oauth.processUserInfoResponse(
      server,
      client,
      subject,
      await oauth.userInfoRequest(server, client, tokens.access_token, insecure),
    )
    assert.equal(info.email, 'ann@example.com')

    const call = (token: string): Request =>
      new Request('https://api.example.com/orders', { headers: { authorization: `Bearer ${token}` } })
    const validate = (token: string, audience: string) =>
      oauth.validateJwtAccessToken(server, call(token), audience, insecure)
    const claims = await validate(tokens.access_token, 'https://api.example.com')
    assert.deepEqual([claims.sub, claims.client_id], [subject, 'api'])
    await assert.rejects(validate(tokens.access_token, 'https://other.example.com'), Error)
    await assert.rejects(validate(tokens.id_token!, 'api'), Error)
  })
})
