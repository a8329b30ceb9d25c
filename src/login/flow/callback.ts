import { readOAuthParameters } from '../../http/requests/query-string.ts'
import type { FlowsTable } from '../../storage/tables.ts'
import { SignInFailure, type FailureCode } from './failures.ts'
import type { ConsumedFlow, Flows } from './flows.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import {
  AccountNotAdmitted,
  providerErrorCode,
  ProviderReturnedError,
  quoteProvider,
} from '../provider-client/provider-errors.ts'
import { appRedirect, type Browser, type SignedIn, type SignIn } from '../sign-in.ts'
import type { VerifiedIdentity } from '../provider-client/verified-identity.ts'

export interface Callback {
  providerClient: ProviderClient
  /** The request's query string, without the question mark. */
  query: string
  /** The hashes of the browser's binding cookies. */
  browserHashes: readonly Uint8Array[]
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
/** What a provider says about its error, for the log. The last two are Facebook's. */
const explanationNames = ['error_description', 'error_uri', 'error_code', 'error_message'] as const

type ParameterName = (typeof parameterNames)[number] | (typeof explanationNames)[number]
type CallbackParameters = ReturnType<typeof readOAuthParameters<ParameterName>>

/**
 * Finishes a sign-in. The state is consumed before the response is read, so that each state gets one attempt. It does not throw:
 * every failure is an outcome that the browser or the app is told about.
 */
export async function finishSignIn(
  { flows, signIn, baseUrl }: { flows: Flows; signIn: SignIn; baseUrl: () => string },
  callback: Callback,
): Promise<CallbackOutcome> {
  const { providerClient, browserHashes, browser } = callback
  let flow: FlowsTable | undefined
  try {
    const response = readOAuthParameters(callback.query, [...parameterNames, ...explanationNames])
    // A repeated state is ambiguous: none of its values is consumed.
    const state = response.repeated.includes('state') ? undefined : response.values.state
    const said = isError(response) ? `; the request says ${quoteProvider(response.values)}` : ''
    if (state === undefined) throw expired(`there is no state, or more than one${said}`)
    if (browserHashes.length === 0)
      throw expired(`there is no cookie of a browser that began a sign-in${said}`)
    const consumed = await flows.consume(providerClient.provider.name, browserHashes, state)
    if (!consumed)
      throw expired(`the state is unknown, used, expired, or of another browser or provider${said}`)
    flow = consumed.row
    const verified = await identify(providerClient, consumed, state, response).catch((error: unknown) => {
      const providerId = error instanceof AccountNotAdmitted ? error.providerId : undefined
      throw new SignInFailure(providerErrorCode(error), error, providerId === undefined ? {} : { providerId })
    })
    return { ok: true, signedIn: await signIn.complete(flow, verified, browser) }
  } catch (error) {
    // Any other error is a fault of the service.
    const failure = error instanceof SignInFailure ? error : new SignInFailure('unavailable', error)
    const redirectUri = flow?.client_redirect_uri ?? undefined
    const answer = appError(failure, callback)
    const redirect = redirectUri && appRedirect(redirectUri, flow!.client_state, baseUrl(), answer)
    return { ok: false, failure, flow, redirect }
  }
}

/** Checks the response, and sends its code to the token endpoint after all other checks. */
async function identify(
  providerClient: ProviderClient,
  { row, verifier }: ConsumedFlow,
  state: string,
  response: CallbackParameters,
): Promise<VerifiedIdentity> {
  const { code, iss: issuer, name: givenName } = response.values
  const isFailure = isError(response)
  if (parameterNames.some((name) => response.repeated.includes(name)))
    throw new Error('a parameter came more than once')
  await providerClient.checkIssuer({ issuer, isError: isFailure })
  if (isFailure) throw new ProviderReturnedError(response.values)
  if (!code) throw new Error('there is no code')
  // The redirect URI must be the one of the authorization request, so it comes from the row and not from this request.
  const url = new URL(row.callback_url)
  url.search = new URLSearchParams({ code, state }).toString()
  return providerClient.identity({
    url,
    state,
    verifier,
    nonce: row.nonce ?? undefined,
    reauthenticationAskedAt: row.reauthentication_asked_at ?? undefined,
    givenName,
  })
}

function isError({
  values: { code, error, error_code: number, error_message: text },
}: CallbackParameters): boolean {
  return error !== undefined || (code === undefined && (number ?? text) !== undefined)
}

function expired(reason: string): SignInFailure {
  return new SignInFailure('sign-in-expired', new Error(reason))
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
