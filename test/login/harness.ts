import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Browser } from '#test/harness/browser.ts'
import type { TestService } from '#test/harness/service.ts'

/** Begins a sign-in and gives the callback that the provider leads back to, not yet called. */
export async function upToCallback(
  service: TestService,
  browser: Browser,
  path = '/auth/acme',
): Promise<URL> {
  const isOurs = (url: URL): boolean => url.origin === service.baseUrl
  const { next, response } = await browser.follow(new URL(path, service.baseUrl), (url) => !isOurs(url))
  assert.ok(next && isOurs(next), `the provider did not lead back, but answered ${response.status}`)
  return next
}

/** A whole sign-in; gives where it led to. */
export async function signIn(service: TestService, browser: Browser, path = '/auth/acme'): Promise<string> {
  const answer = await browser.go(await upToCallback(service, browser, path))
  assert.equal(answer.status, 303)
  return answer.headers.get('location')!
}

export interface Me {
  id: string
  email: string | null
  name: string | null
  role: string
}

/** Who is signed in; undefined when nobody is. */
export async function whoAmI(service: TestService, browser: Browser): Promise<Me | undefined> {
  const response = await browser.go(new URL('/auth/session', service.baseUrl))
  if (response.status === 401) return undefined
  assert.equal(response.status, 200)
  return ((await response.json()) as { user: Me }).user
}

/** Calls a callback that must fail: /login with this code, and nobody is signed in. */
export async function assertFails(
  service: TestService,
  browser: Browser,
  callback: URL,
  code: string,
): Promise<void> {
  const answer = await browser.go(callback)
  assert.ok(answer.status === 302 || answer.status === 303, `answered ${answer.status}`)
  const location = new URL(answer.headers.get('location')!, service.baseUrl)
  assert.equal(location.origin, service.baseUrl)
  assert.equal(location.pathname, '/login')
  assert.equal(location.searchParams.get('error'), code)
  assert.match(location.searchParams.get('id') ?? '', /^[\w-]+$/)
  assert.equal(await whoAmI(service, browser), undefined)
}

/** How many users and sessions there are. */
export async function counts(
  service: TestService,
): Promise<{ users: number; sessions: number; identities: number }> {
  const count = async (table: 'users' | 'sessions' | 'identities'): Promise<number> => {
    const row = await service.database.reader
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return row.count
  }
  return {
    users: await count('users'),
    sessions: await count('sessions'),
    identities: await count('identities'),
  }
}

export interface Pkce {
  verifier: string
  challenge: string
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The start of an app's sign-in, as the app would make it. */
export function appStart(pkce: Pkce, more: Record<string, string | undefined> = {}): string {
  const parameters: Record<string, string | undefined> = {
    client_id: 'spa',
    redirect_uri: 'https://app.example.com/callback',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    state: 'app-state',
    ...more,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
  return `/auth/acme?${query.toString()}`
}

/** Signs in for an app and gives the code that it would get at its redirect URI. */
export async function appCode(
  service: TestService,
  pkce: Pkce,
  more: Record<string, string | undefined> = {},
): Promise<string> {
  const browser = new Browser()
  const target = new URL(await signIn(service, browser, appStart(pkce, more)))
  const code = target.searchParams.get('code')
  assert.ok(code)
  return code
}

export async function exchange(
  service: TestService,
  fields: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await service.fetch('/auth/token', { method: 'POST', body: new URLSearchParams(fields) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

export const spa = {
  id: 'spa',
  redirectUris: ['https://app.example.com/callback', 'com.example.app:/callback'],
}
