// A relying party as the OpenID conformance suite is one: confidential, without PKCE unless a test asks for it, RS256.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose'
import type { Browser, TestService } from '#test/harness/index.ts'
import { authorizeUrl, basic, callback, hiddenFields, secret, token } from './harness.ts'

export const suiteClients = [
  { id: 'suite', redirectUris: [callback], secret, idTokenAlgorithm: 'RS256', idTokenClaims: 'minimal' },
  { id: 'suite-2', redirectUris: [callback], secret, idTokenAlgorithm: 'RS256' },
] as const

export type Parameters = Record<string, string | undefined>

/** Where an authorization request ended, and what the person saw on the way. */
export interface Visit {
  /** What the redirect URI got, in the query or as a form; empty when the browser did not get there. */
  answer: Record<string, string>
  /** Whether the person was at the page of sign-in or at the provider. */
  signedIn: boolean
  status: number
  page: string
}

/** Goes through the pages as a person who signs in. */
export async function visit(
  service: TestService,
  browser: Browser,
  start: URL,
  init: RequestInit = {},
): Promise<Visit> {
  let [url, signedIn] = [start, false]
  for (let hop = 0; hop < 20; hop += 1) {
    const response = await browser.go(url, hop === 0 ? init : { headers: { accept: 'text/html' } })
    const page = await response.text()
    const location = response.headers.get('location')
    const seen = { signedIn, status: response.status, page }
    if (location !== null) {
      url = new URL(location, url)
      if (url.href.startsWith(callback)) return { ...seen, answer: Object.fromEntries(url.searchParams) }
      signedIn ||= url.pathname === '/login'
      continue
    }
    if (page.includes(`<form method="post" action="${callback}">`))
      return { ...seen, answer: hiddenFields(page) }
    const link = url.pathname === '/login' && /href="(\/auth\/acme[^"]*)"/.exec(page)?.[1]
    if (!link) return { ...seen, answer: {} }
    url = new URL(link.replaceAll('&amp;', '&'), service.baseUrl)
  }
  throw new Error(`too many redirects, the last to ${url.href}`)
}

/** The address of a request of the suite. */
export function suiteUrl(service: TestService, more: Parameters = {}): URL {
  const without = { code_challenge: undefined, code_challenge_method: undefined }
  return authorizeUrl(service, { client_id: 'suite', nonce: 'the-nonce', ...without, ...more })
}

export interface Tokens {
  access: string
  refresh: string
  idToken: string
  claims: JWTPayload & Record<string, unknown>
}

/** Exchanges a code by `client_secret_basic`, and validates the id_token as OpenID Connect Core, section 3.1.3.7, asks. */
export async function exchangeCode(
  service: TestService,
  code: string | undefined,
  more: Record<string, string> = {},
  clientId = 'suite',
): Promise<Tokens> {
  assert.ok(code, 'no code')
  const { status, body, headers } = await token(
    service,
    { grant_type: 'authorization_code', code, redirect_uri: callback, ...more },
    basic(clientId),
  )
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual([headers.get('cache-control'), body['token_type']], ['no-store', 'Bearer'])
  return tokensOfBody(service, body, clientId)
}

/** The tokens of an answer of the token endpoint. */
export async function tokensOfBody(
  service: TestService,
  body: Record<string, unknown>,
  clientId = 'suite',
): Promise<Tokens> {
  const [access, idToken] = [String(body['access_token']), String(body['id_token'])]
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.baseUrl))
  const { payload, protectedHeader } = await jwtVerify<Record<string, unknown>>(idToken, keys, {
    issuer: service.baseUrl,
    audience: clientId,
    algorithms: ['RS256'],
  })
  assert.ok(protectedHeader.kid)
  const half = createHash('sha256').update(access).digest().subarray(0, 16)
  assert.equal(payload['at_hash'], half.toString('base64url'))
  return { access, idToken, refresh: String(body['refresh_token']), claims: payload }
}

/** The answer of the userinfo endpoint. */
export async function userinfo(
  service: TestService,
  init: RequestInit,
): Promise<{ status: number; claims: Record<string, unknown> }> {
  const response = await service.fetch('/oauth2/userinfo', init)
  return { status: response.status, claims: (await response.json()) as Record<string, unknown> }
}
