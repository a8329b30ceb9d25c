import assert from 'node:assert/strict'
import type { Browser, TestService } from '#test/harness/index.ts'
import { newPkce, type Pkce } from '../login/harness.ts'

export const callback = 'https://app.example.com/callback'
export const secret = 'a-secret-of-thirty-two-characters'

/** The clients of most tests: a public and a confidential one. */
export const clients = [
  { id: 'spa', redirectUris: [callback] },
  { id: 'web', redirectUris: [callback], secret },
]

/** The address of an authorization request. */
export function authorizeUrl(
  service: TestService,
  more: Record<string, string | undefined> = {},
  pkce: Pkce = newPkce(),
): URL {
  const parameters: Record<string, string | undefined> = {
    client_id: 'spa',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
    state: 'the-state',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...more,
  }
  const url = new URL('/oauth2/authorize', service.baseUrl)
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

/**
 * Follows redirects until the app's redirect URI, which it does not call, and picks the provider `acme` on the page of
 * sign-in.
 */
export async function toApp(
  service: TestService,
  browser: Browser,
  start: URL,
  redirectUri = callback,
): Promise<URL> {
  let url = start
  for (let hop = 0; hop < 10; hop += 1) {
    const { next, response, url: at } = await browser.follow(url, (to) => !to.href.startsWith(redirectUri))
    if (next?.href.startsWith(redirectUri)) return next
    const page = await response.text()
    assert.equal(response.status, 200, `${at.href} answered ${response.status}: ${page}`)
    assert.equal(at.pathname, '/login', `the browser is at ${at.href}`)
    const link = /href="(\/auth\/acme[^"]*)"/.exec(page)?.[1]
    assert.ok(link, 'the page has no link to the provider')
    url = new URL(link.replaceAll('&amp;', '&'), service.baseUrl)
  }
  throw new Error('the app was not reached')
}

/** The answer at the redirect URI. */
export async function answerOf(
  service: TestService,
  browser: Browser,
  more: Record<string, string | undefined> = {},
  pkce?: Pkce,
): Promise<Record<string, string>> {
  const url = await toApp(service, browser, authorizeUrl(service, more, pkce))
  return Object.fromEntries(url.searchParams)
}

/** A call of the token endpoint. */
export async function token(
  service: TestService,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const body = new URLSearchParams(fields)
  const response = await service.fetch('/oauth2/token', { method: 'POST', body, headers })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

/** Signs in and exchanges the code. */
export async function tokensOf(
  service: TestService,
  browser: Browser,
  more: Record<string, string | undefined> = {},
): Promise<Record<string, unknown>> {
  const pkce = newPkce()
  const { code } = await answerOf(service, browser, more, pkce)
  assert.ok(code)
  const clientId = more['client_id'] ?? 'spa'
  const { status, body } = await token(service, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: pkce.verifier,
    redirect_uri: callback,
    ...(clientId === 'web' && { client_secret: secret }),
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** The hidden fields of a page's form. */
export function hiddenFields(html: string): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)
  return Object.fromEntries([...fields].map(([, name, value]) => [name!, value!]))
}

/** The header with which a client authenticates by its secret (`client_secret_basic`). */
export const basic = (id: string, password = secret) => ({
  authorization: `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`,
})

/** Allows what a page of consent asks. Returns the address that the browser goes on to. */
export async function allow(service: TestService, browser: Browser, page: string): Promise<URL> {
  const body = new URLSearchParams({ ...hiddenFields(page), decision: 'allow' })
  const answer = await browser.go(new URL('/oauth2/consent', service.baseUrl), {
    method: 'POST',
    body,
    headers: { 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  return new URL(answer.headers.get('refresh')!.replace('0;url=', ''))
}
