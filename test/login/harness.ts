import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Browser } from '#test/harness/browser.ts'
import type { TestService } from '#test/harness/service.ts'
import type { AnswerTo } from '#test/harness/answers.ts'

/** Starts a sign-in and gives the callback that the provider redirects to, without calling it. */
export async function upToCallback(
  service: TestService,
  browser: Browser,
  path = '/auth/acme',
): Promise<URL> {
  const isOurs = (url: URL): boolean => url.origin === service.baseUrl
  const { next, response } = await browser.follow(new URL(path, service.baseUrl), (url) => !isOurs(url))
  assert.ok(next && isOurs(next), `the provider did not redirect back, but answered ${response.status}`)
  return next
}

/** Signs in; gives the location of the callback's redirect. */
export async function signIn(service: TestService, browser: Browser, path = '/auth/acme'): Promise<string> {
  const answer = await browser.go(await upToCallback(service, browser, path))
  assert.equal(answer.status, 303)
  return answer.headers.get('location')!
}

export type Me = AnswerTo<'GET /auth/session'>['user']

/** The signed-in user; `undefined` without one. */
export async function whoAmI(service: TestService, browser: Browser): Promise<Me | undefined> {
  const response = await browser.go(new URL('/auth/session', service.baseUrl))
  if (response.status === 401) return undefined
  assert.equal(response.status, 200)
  return ((await response.json()) as { user: Me }).user
}

/**
 * Calls a callback that must fail: it redirects to /login with this code, the audit log has an entry with the support id, no
 * account, session or token has changed, and the browser's session is the same as before.
 */
export async function assertRefused(
  service: TestService,
  browser: Browser,
  callback: URL,
  code: string,
): Promise<void> {
  const who = await whoAmI(service, browser)
  const before = await accountsOf(service)
  const answer = await browser.go(callback)
  assert.equal(answer.status, 303)
  const location = new URL(answer.headers.get('location')!, service.baseUrl)
  assert.equal(location.origin, service.baseUrl)
  assert.equal(location.pathname, '/login')
  assert.equal(location.searchParams.get('error'), code)
  const id = location.searchParams.get('id') ?? ''
  assert.match(id, /^[\w-]+$/)
  assert.deepEqual(await auditCodes(service, id), [code])
  assert.deepEqual(await accountsOf(service), before)
  assert.deepEqual(await whoAmI(service, browser), who)
}

/** The same in a browser without a session. */
export async function assertFails(
  service: TestService,
  browser: Browser,
  callback: URL,
  code: string,
): Promise<void> {
  await assertRefused(service, browser, callback, code)
  assert.equal(await whoAmI(service, browser), undefined)
}

/** The failure codes of one request in the audit log, in the order of their entries. */
async function auditCodes({ database }: TestService, referenceId: string): Promise<(string | null)[]> {
  const rows = await database.reader
    .selectFrom('audit_log')
    .select('code')
    .where('support_id', 'like', `${referenceId}%`)
    .orderBy('id')
    .execute()
  return rows.map(({ code }) => code)
}

/** All accounts and credentials. Two results are equal if no account or credential changed in between. */
export async function accountsOf({ database }: TestService): Promise<Record<string, unknown[]>> {
  const { reader } = database
  const [users, identities, sessions, families, codes, tokens] = await Promise.all([
    reader.selectFrom('users').selectAll().orderBy('id').execute(),
    reader.selectFrom('identities').selectAll().orderBy('provider').orderBy('provider_id').execute(),
    reader.selectFrom('sessions').selectAll().orderBy('id').execute(),
    reader.selectFrom('token_families').selectAll().orderBy('id').execute(),
    reader.selectFrom('authorization_codes').selectAll().orderBy('code_hash').execute(),
    reader.selectFrom('refresh_tokens').selectAll().orderBy('token_hash').execute(),
  ])
  // Without the time of the last use, which every request may change.
  return {
    users: users.map(withoutUse),
    identities,
    sessions: sessions.map(withoutUse),
    families,
    codes,
    tokens,
  }
}

function withoutUse<T extends { last_seen_at: number }>({ last_seen_at: _used, ...row }: T) {
  return row
}

/** The numbers of users, sessions and identities. */
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

/** The path at which an app starts a sign-in. */
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

/** Signs in for an app; gives the code that the app receives at its redirect URI. */
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

/** The fields with which an app exchanges its code: the app of pages, unless `more` has another one. */
export const codeGrant = (code: string, { verifier }: Pick<Pkce, 'verifier'>, more = {}) => ({
  grant_type: 'authorization_code',
  client_id: spa.id,
  code,
  code_verifier: verifier,
  redirect_uri: spa.redirectUris[0]!,
  ...more,
})

/** Signs a person in for an app of pages, which exchanges its code. The answer has the tokens. */
export async function appTokens(
  service: TestService,
  more: Record<string, string | undefined> = {},
): Promise<Record<string, unknown>> {
  const pkce = newPkce()
  const { status, body } = await exchange(service, {
    ...codeGrant(await appCode(service, pkce, more), pkce),
    ...(more['client_id'] !== undefined && { client_id: more['client_id'] }),
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

export const spa = {
  id: 'spa',
  redirectUris: ['https://app.example.com/callback', 'com.example.app:/callback'],
}
