import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import type { Browser } from '../harness/browser.ts'
import type { TestService } from '../harness/service.ts'
import { AuthorizationCodes } from '../../src/oauth2/token/authorization-codes.ts'
import { systemClock } from '../../src/runtime/clock.ts'

/** The tokens of one sign-in of an app. */
export interface AppTokens {
  clientId: string
  accessToken: string
  refreshToken: string
  idToken: string
  /** The token family. */
  sid: string
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

/** Signs a confidential client in with the session of a browser, as far as its code; no consent is asked for. */
export async function codeOf(
  service: TestService,
  browser: Browser,
  clientId: string,
  scope: string,
): Promise<string> {
  const { database } = service
  const { userId, sessionId } = (await sessionOf(service, browser))!
  // Valid for an hour: a test may set the service's clock ahead.
  const clock = { ...systemClock, now: () => Date.now() + 3_600_000 }
  const codes = new AuthorizationCodes({ database, clock } as never)
  const authentication = { at: Date.now(), proof: 'verified', acr: null, amr: null } as const
  const user = { userId, provider: 'acme', address: '127.0.0.1', userAgent: undefined, authentication }
  const redirectUri = 'https://app.example.com/callback'
  const grant = { clientId, redirectUri, challenge: null, sessionId, scope, resource: null, nonce: null }
  return database.transaction((tx) => codes.issue(tx, grant, user))
}

export async function exchangeCode(
  service: TestService,
  clientId: string,
  secret: string,
  code: string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const fields = {
    grant_type: 'authorization_code',
    client_id: clientId,
    client_secret: secret,
    code,
    redirect_uri: 'https://app.example.com/callback',
  }
  return token(service, fields)
}

/** Calls the token endpoint. */
export async function token(
  service: TestService,
  fields: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await service.fetch('/oauth2/token', { method: 'POST', body: new URLSearchParams(fields) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Signs a confidential client in with the session of a browser. */
export async function signInApp(
  service: TestService,
  browser: Browser,
  { id, secret }: { id: string; secret: string },
  scope = 'openid',
): Promise<AppTokens> {
  const { status, body } = await exchangeCode(service, id, secret, await codeOf(service, browser, id, scope))
  assert.equal(status, 200, JSON.stringify(body))
  const idToken = String(body['id_token'])
  return {
    clientId: id,
    accessToken: String(body['access_token']),
    refreshToken: String(body['refresh_token']),
    idToken,
    sid: String(decodeJwt(idToken)['sid']),
  }
}

/** Whether an access token is still accepted. */
export async function isLive(service: TestService, { accessToken }: AppTokens): Promise<boolean> {
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
