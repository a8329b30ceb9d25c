import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import type { Browser, TestService } from '../harness/index.ts'
import { newPkce, type Pkce } from '../login/harness.ts'
import { answerOf, callback, token } from './harness.ts'

/** The tokens of one sign-in of an app. */
export interface AppTokens {
  accessToken: string
  refreshToken: string
  idToken: string
  /** The token family. */
  sid: string
}

export interface ConfidentialClient {
  id: string
  secret: string
}

/** A form as pages of the service itself post it. */
export function postForm(
  service: TestService,
  browser: Browser,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const own = { origin: service.baseUrl, 'sec-fetch-site': 'same-origin' }
  return browser.go(new URL(path, service.baseUrl), {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { ...own, ...headers },
  })
}

export async function sessionOf(
  service: TestService,
  browser: Browser,
): Promise<{ userId: string; sessionId: string } | undefined> {
  const answer = await browser.go(new URL('/auth/session', service.baseUrl))
  if (answer.status === 401) return undefined
  const { sub, session } = (await answer.json()) as { sub: string; session: { id: string } }
  return { userId: sub, sessionId: session.id }
}

/** Exchanges a code. */
export function exchangeCode(
  service: TestService,
  { id, secret }: ConfidentialClient,
  { code, pkce }: { code: string; pkce: Pkce },
): Promise<{ status: number; body: Record<string, unknown> }> {
  return token(service, {
    grant_type: 'authorization_code',
    client_id: id,
    client_secret: secret,
    code,
    code_verifier: pkce.verifier,
    redirect_uri: callback,
  })
}

/** Signs a client in with the session of a browser, as far as its code. */
export async function codeOf(
  service: TestService,
  browser: Browser,
  clientId: string,
  scope: string,
): Promise<{ code: string; pkce: Pkce }> {
  const pkce = newPkce()
  const { code } = await answerOf(service, browser, { client_id: clientId, scope }, pkce)
  assert.ok(code)
  return { code, pkce }
}

/** Signs a confidential client in with the session of a browser. */
export async function signInApp(
  service: TestService,
  browser: Browser,
  client: ConfidentialClient,
  scope = 'openid',
): Promise<AppTokens> {
  const { status, body } = await exchangeCode(
    service,
    client,
    await codeOf(service, browser, client.id, scope),
  )
  assert.equal(status, 200, JSON.stringify(body))
  const idToken = String(body['id_token'])
  return {
    accessToken: String(body['access_token']),
    refreshToken: String(body['refresh_token']),
    idToken,
    sid: String(decodeJwt(idToken)['sid']),
  }
}

/** Whether an access token is still accepted. */
export async function isLive(
  service: TestService,
  { accessToken }: Pick<AppTokens, 'accessToken'>,
): Promise<boolean> {
  const headers = { authorization: `Bearer ${accessToken}` }
  return (await service.fetch('/auth/session', { headers })).status === 200
}

/** The newest audit entry of an action. */
export async function lastAudit({ database }: TestService, action: string) {
  return database.reader
    .selectFrom('audit_log')
    .selectAll()
    .where('action', '=', action)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
}
