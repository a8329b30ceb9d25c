import type { FlowsTable } from '../storage/tables.ts'
import { SignInFailure, type FailureCode } from './failures.ts'
import type { ConsumedFlow, Flows } from './flows.ts'
import type { ProviderClient } from './provider-client.ts'
import { ErrorResponse, providerErrorCode } from './provider-errors.ts'
import { appRedirect, type Browser, type SignedIn, type SignIn } from './sign-in.ts'
import type { VerifiedIdentity } from './verified-identity.ts'

export interface Callback {
  client: ProviderClient
  /** The request's query string, without the question mark. */
  query: string
  /** The value of the flow cookie. */
  browserToken: string | undefined
  browser: Browser
}

export type CallbackOutcome =
  | { ok: true; signedIn: SignedIn }
  | {
      ok: false
      failure: SignInFailure
      /** The consumed flow; `undefined` when a check failed before the state was consumed. */
      flow: FlowsTable | undefined
      /** The app's redirect URI with the error; `undefined` for a browser's sign-in. */
      redirect: string | undefined
    }

/** The parameters that are read of the authorization response. Only form-post.ts sends `name`. */
const parameterNames = ['state', 'code', 'iss', 'error', 'name'] as const

interface AuthorizationResponse extends Partial<Record<(typeof parameterNames)[number], string>> {
  /** Whether one of the parameters came more than once. */
  repeated: boolean
}

/** A callback while it is checked. */
interface Attempt {
  readonly flows: Flows
  readonly callback: Callback
  readonly response: AuthorizationResponse
  /** Set by `consumeState`. */
  flow?: ConsumedFlow
  /** Set by `exchangeCode`. */
  verified?: VerifiedIdentity
}

/** Why a check failed; `undefined` when it passed. */
type CheckResult = { reason: unknown } | undefined

interface Check {
  /** An error that it throws is a fault of the service: `unavailable`. */
  check: (attempt: Attempt) => CheckResult | Promise<CheckResult>
  /** The failure code, or how it follows from the reason. */
  code: FailureCode | ((reason: unknown) => FailureCode)
}

/**
 * The checks of a callback, in their order. The state is consumed before the response is read, so that each state gets
 * one attempt. The code is sent to the token endpoint only after all other checks.
 */
const checks: readonly Check[] = [
  { check: requireStateAndCookie, code: 'sign-in-expired' },
  { check: consumeState, code: 'sign-in-expired' },
  { check: refuseRepeatedParameters, code: 'provider-answer-invalid' },
  { check: checkIssuer, code: providerErrorCode },
  { check: refuseErrorResponse, code: providerErrorCode },
  { check: requireCode, code: 'provider-answer-invalid' },
  { check: exchangeCode, code: providerErrorCode },
]

/** Finishes a sign-in. It does not throw: every failure is an outcome that the browser or the app is told about. */
export async function finishSignIn(
  { flows, signIn, baseUrl }: { flows: Flows; signIn: SignIn; baseUrl: () => string },
  callback: Callback,
): Promise<CallbackOutcome> {
  const attempt: Attempt = { flows, callback, response: parseResponse(callback.query) }
  try {
    for (const { check, code } of checks) {
      const failed = await check(attempt)
      if (failed)
        throw new SignInFailure(typeof code === 'function' ? code(failed.reason) : code, failed.reason)
    }
    const signedIn = await signIn.complete(attempt.flow!.row, attempt.verified!, callback.browser)
    return { ok: true, signedIn }
  } catch (error) {
    const failure = error instanceof SignInFailure ? error : new SignInFailure('unavailable', error)
    const flow = attempt.flow?.row
    const redirect = flow && appRedirect(flow, baseUrl(), appError(failure, callback))
    return { ok: false, failure, flow, redirect }
  }
}

function parseResponse(query: string): AuthorizationResponse {
  const parameters = new URLSearchParams(query)
  const response: AuthorizationResponse = { repeated: false }
  for (const name of parameterNames) {
    const [value, ...others] = parameters.getAll(name)
    if (others.length > 0) response.repeated = true
    // A repeated state is ambiguous: none of its values is consumed.
    if (value !== undefined && (name !== 'state' || others.length === 0)) response[name] = value
  }
  return response
}

function requireStateAndCookie({ response, callback }: Attempt): CheckResult {
  if (response.state === undefined) return failed('there is no state, or more than one')
  return callback.browserToken === undefined ? failed('there is no flow cookie') : undefined
}

async function consumeState(attempt: Attempt): Promise<CheckResult> {
  const { client, browserToken } = attempt.callback
  const flow = await attempt.flows.consume(client.provider.name, browserToken!, attempt.response.state!)
  if (!flow) return failed('the state is unknown, used, expired, or of another browser or provider')
  attempt.flow = flow
  return undefined
}

function refuseRepeatedParameters({ response }: Attempt): CheckResult {
  return response.repeated ? failed('a parameter came more than once') : undefined
}

function checkIssuer({ callback, response }: Attempt): Promise<CheckResult> {
  const origin = { issuer: response.iss, isError: response.error !== undefined }
  return failureOf(() => callback.client.checkIssuer(origin))
}

function refuseErrorResponse({ response: { error } }: Attempt): CheckResult {
  return error === undefined ? undefined : { reason: new ErrorResponse(error) }
}

function requireCode({ response }: Attempt): CheckResult {
  return response.code ? undefined : failed('there is no code')
}

function exchangeCode(attempt: Attempt): Promise<CheckResult> {
  const { callback, response } = attempt
  const { row, verifier } = attempt.flow!
  const state = response.state!
  // The redirect URI must be the one of the authorization request, so it comes from the row and not from this request.
  const url = new URL(row.callback_url)
  url.search = new URLSearchParams({ code: response.code!, state }).toString()
  return failureOf(async () => {
    attempt.verified = await callback.client.identity({
      url,
      state,
      verifier,
      nonce: row.nonce ?? undefined,
      reauthenticationAskedAt: row.reauthentication_asked_at ?? undefined,
      givenName: response.name,
    })
  })
}

function failed(reason: string): CheckResult {
  return { reason: new Error(reason) }
}

async function failureOf(call: () => Promise<void>): Promise<CheckResult> {
  try {
    await call()
    return undefined
  } catch (reason) {
    return { reason }
  }
}

/** The error codes for apps (RFC 6749, section 4.1.2.1); `server_error` for all others. */
const appErrors: Partial<Record<FailureCode, string>> = {
  'access-denied': 'access_denied',
  'account-blocked': 'access_denied',
  'account-not-admitted': 'access_denied',
  'issuer-changed': 'access_denied',
  refused: 'access_denied',
  'provider-unavailable': 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
}

/** The error for the app. Messages of the provider and of hooks are for the person, so the app gets only the support id. */
function appError({ code }: SignInFailure, { browser }: Callback) {
  const supportId = browser.origin.supportId ?? 'none'
  return {
    error: appErrors[code] ?? 'server_error',
    error_description: `The sign-in failed. Support id: ${supportId}`,
  }
}
