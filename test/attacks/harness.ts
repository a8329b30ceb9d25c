import assert from 'node:assert/strict'
import { Browser } from '#test/harness/browser.ts'
import type { TestService } from '#test/harness/service.ts'
import type { HonestProvider, Person } from './honest-provider.ts'

/** Begins a sign-in; the authorization URL that the browser is led to. */
export async function begin(service: TestService, browser: Browser, path = '/auth/acme'): Promise<URL> {
  const start = await browser.go(new URL(path, service.baseUrl))
  assert.equal(start.status, 303, path)
  return new URL(start.headers.get('location')!)
}

/** Begins to link an identity, as our own page does; the authorization URL. */
export async function beginLink(
  service: TestService,
  browser: Browser,
  path = '/auth/other/link',
): Promise<URL> {
  const headers = { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' }
  const start = await browser.go(new URL(path, service.baseUrl), { method: 'POST', headers })
  assert.equal(start.status, 303, path)
  return new URL(start.headers.get('location')!)
}

/** A whole sign-in; where it leads to. */
export async function signInAs(
  service: TestService,
  browser: Browser,
  provider: HonestProvider,
  person: Person | string,
  path = '/auth/acme',
): Promise<string> {
  const answer = await browser.go(provider.approve(await begin(service, browser, path), person))
  assert.equal(answer.status, 303)
  return answer.headers.get('location')!
}

/** A browser in which a person has signed in. */
export async function browserOf(
  service: TestService,
  provider: HonestProvider,
  person: Person | string,
): Promise<Browser> {
  const browser = new Browser()
  await signInAs(service, browser, provider, person)
  return browser
}

/** Does something during which no provider may be asked to exchange a code. */
export async function withoutExchange(
  providers: readonly { tokenRequests: readonly unknown[] }[],
  attack: () => Promise<void>,
): Promise<void> {
  const calls = (): number[] => providers.map(({ tokenRequests }) => tokenRequests.length)
  const before = calls()
  await attack()
  assert.deepEqual(calls(), before, 'the token endpoint was called')
}

/** Holds an answer to be a refusal in the form of RFC 9457, with this stable code. */
export async function assertProblem(response: Response, status: number, code: string): Promise<void> {
  const text = await response.text()
  assert.equal(response.status, status, text)
  assert.equal((JSON.parse(text) as { code: string }).code, code)
  assert.equal(response.headers.get('location'), null)
  // But for the cookie that binds what a browser begins, which is nobody's sign-in.
  const cookies = response.headers.getSetCookie().filter((line) => !/^(__Host-)?postern_browser-/.test(line))
  assert.deepEqual(cookies, [])
}
