// MSAL.js as it is, for providers other than Microsoft: `protocolMode: 'OIDC'` and the issuer's address.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConfidentialClientApplication,
  CryptoProvider,
  type INetworkModule,
  type NetworkRequestOptions,
  ProtocolMode,
  PublicClientApplication,
} from '@azure/msal-node'
import { Browser, onOneEngine } from '#test/harness/index.ts'
import { toApp } from '../harness.ts'
import { useStockService, webSecret } from './harness.ts'

const apps = [
  { clientId: 'web', redirectUri: 'https://web.example.com/callback', secret: webSecret },
  { clientId: 'native', redirectUri: 'http://127.0.0.1:4711/callback', secret: undefined },
] as const

/**
 * Calls a service of http that MSAL.js knows by an https address, the only kind that it takes. The service would have one in
 * production.
 */
function networkOf(baseUrl: string): INetworkModule {
  const secure = baseUrl.replace('http:', 'https:')
  const send = async <T>(url: string, init: RequestInit) => {
    const response = await fetch(url.replace(secure, baseUrl), init)
    const body = JSON.parse((await response.text()).replaceAll(baseUrl, secure)) as T
    return { headers: Object.fromEntries(response.headers), body, status: response.status }
  }
  return {
    sendGetRequestAsync: (url, { headers = {} }: NetworkRequestOptions = {}) => send(url, { headers }),
    sendPostRequestAsync: (url, { headers = {}, body = '' }: NetworkRequestOptions = {}) =>
      send(url, { method: 'POST', headers, body }),
  }
}

onOneEngine('MSAL.js', (engine) => {
  const stock = useStockService(engine)

  for (const { clientId, redirectUri, secret } of apps)
    test(`a ${secret ? 'confidential' : 'public'} client signs in and renews its tokens`, async () => {
      const { baseUrl } = stock.service
      const authority = baseUrl.replace('http:', 'https:')
      const auth = { clientId, authority, knownAuthorities: [new URL(authority).host] }
      const system = { protocolMode: ProtocolMode.OIDC, networkClient: networkOf(baseUrl) }
      const app = secret
        ? new ConfidentialClientApplication({ auth: { ...auth, clientSecret: secret }, system })
        : new PublicClientApplication({ auth, system })
      const { verifier, challenge } = await new CryptoProvider().generatePkceCodes()
      const nonce = 'the-nonce'
      const scopes = ['email']
      const request = { redirectUri, scopes }
      const pkce = { codeChallenge: challenge, codeChallengeMethod: 'S256' }
      const url = await app.getAuthCodeUrl({ ...request, ...pkce, state: 'the-state', nonce })
      const answer = await toApp(
        stock.service,
        new Browser(),
        new URL(url.replace(authority, baseUrl)),
        redirectUri,
      )
      assert.equal(answer.searchParams.get('state'), 'the-state')
      const code = answer.searchParams.get('code')!
      const tokens = await app.acquireTokenByCode({ ...request, nonce, code, codeVerifier: verifier })
      const claims = tokens.idTokenClaims as Record<string, unknown>
      assert.deepEqual([claims['email'], claims['nonce']], ['ann@example.com', nonce])
      assert.equal(tokens.account!.localAccountId, claims['sub'])
      const { account } = tokens
      const again = await app.acquireTokenSilent({ scopes, account: account!, forceRefresh: true })
      assert.notEqual(again.accessToken, tokens.accessToken)
      const { status } = await stock.service.fetch('/oauth2/userinfo', {
        headers: { authorization: `Bearer ${again.accessToken}` },
      })
      assert.equal(status, 200)
    })
})
