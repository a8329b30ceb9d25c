// openid-client 6 as it is: from the issuer's address alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oidc from 'openid-client'
import { Browser, onOneEngine } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

const redirectUri = 'https://web.example.com/callback'
const nativeUri = 'http://127.0.0.1:4711/callback'

onOneEngine('openid-client', (engine) => {
  const stock = useStockService(engine)

  const discover = (clientId: string, authentication?: oidc.ClientAuth): Promise<oidc.Configuration> =>
    oidc.discovery(new URL(stock.service.baseUrl), clientId, undefined, authentication, {
      execute: [oidc.allowInsecureRequests],
    })

  async function signIn(
    config: oidc.Configuration,
    redirectUri: string,
    pushed = false,
  ): ReturnType<typeof oidc.authorizationCodeGrant> {
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [oidc.randomState(), oidc.randomNonce()]
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
    }
    const url = pushed
      ? await oidc.buildAuthorizationUrlWithPAR(config, parameters)
      : oidc.buildAuthorizationUrl(config, parameters)
    const answer = await toApp(stock.service, new Browser(), url, redirectUri)
    return oidc.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState, expectedNonce })
  }

  async function useTokens(config: oidc.Configuration, redirectUri: string, pushed = false): Promise<void> {
    const tokens = await signIn(config, redirectUri, pushed)
    const subject = tokens.claims()!.sub
    const info = await oidc.fetchUserInfo(config, tokens.access_token, subject)
    assert.deepEqual([info.email, info.email_verified, info.name], ['ann@example.com', true, 'Ann'])
    const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    assert.equal(renewed.claims()!.sub, subject)
    assert.notEqual(renewed.refresh_token, tokens.refresh_token)
    await oidc.fetchUserInfo(config, renewed.access_token, subject)
  }

  test('a confidential client with client_secret_basic and with client_secret_post', async () => {
    for (const method of [oidc.ClientSecretBasic, oidc.ClientSecretPost])
      await useTokens(await discover('web', method(webSecret)), redirectUri)
  })

  test('a client that does not form-encode its secret in the header, as several do not', async () => {
    const unencoded: oidc.ClientAuth = (_server, client, _body, headers) =>
      headers.set('authorization', `Basic ${btoa(`${client.client_id}:${webSecret}`)}`)
    await useTokens(await discover('web', unencoded), redirectUri)
  })

  test('its default for a secret', async () => {
    const config = await oidc.discovery(new URL(stock.service.baseUrl), 'web', webSecret, undefined, {
      execute: [oidc.allowInsecureRequests],
    })
    await useTokens(config, redirectUri)
  })

  test('a public client on a loopback port', async () => {
    await useTokens(await discover('native', oidc.None()), nativeUri)
  })

  test('a pushed authorization request', async () => {
    await useTokens(await discover('web', oidc.ClientSecretBasic(webSecret)), redirectUri, true)
    await useTokens(await discover('native', oidc.None()), nativeUri, true)
  })

  test('the metadata of RFC 8414', async () => {
    const config = await oidc.discovery(new URL(stock.service.baseUrl), 'web', webSecret, undefined, {
      algorithm: 'oauth2',
      execute: [oidc.allowInsecureRequests],
    })
    await useTokens(config, redirectUri)
  })

  test('a wrong secret is invalid_client', async () => {
    const config = await discover('web', oidc.ClientSecretBasic('wrong'))
    await assert.rejects(signIn(config, redirectUri), (error: Error) => {
      assert.ok(
        error instanceof oidc.WWWAuthenticateChallengeError || error instanceof oidc.ResponseBodyError,
      )
      assert.equal(error.status, 401)
      return true
    })
  })
})
