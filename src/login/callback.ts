import type { FlowsTable } from '../storage/tables.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { SignInFailure, type FailureCode } from './failures.ts'
import type { Flows } from './flows.ts'
import type { ProviderClient } from './provider-client.ts'
import { appTarget, type Browser, type SignedIn, type SignIn } from './sign-in.ts'

export interface Callback {
  client: ProviderClient
  /** The request's query string, without the question mark. */
  query: string
  /** The flow cookie. */
  browserToken: string | undefined
  browser: Browser
}

export type CallbackOutcome =
  | { ok: true; signedIn: SignedIn }
  | {
      ok: false
      failure: SignInFailure
      /** What it was for, as far as that is known. */
      flow: FlowsTable | undefined
      /** Where an app waits for the answer. */
      target: string | undefined
    }

/** What of the provider's answer counts; the name comes from our own form route (form-post.ts). */
const read = ['state', 'code', 'iss', 'error', 'name'] as const

/** Finishes a sign-in. Whatever goes wrong is an outcome too: the browser is led back to a page that says so. */
export async function finishSignIn(
  parts: { flows: Flows; signIn: SignIn; baseUrl: () => string },
  callback: Callback,
): Promise<CallbackOutcome> {
  let flow: FlowsTable | undefined
  try {
    const { client, browserToken, browser } = callback
    const answer = readAnswer(callback.query)
    if (answer.state === undefined || browserToken === undefined) throw new SignInFailure('sign-in-expired')
    const taken = await parts.flows.take(client.provider.name, browserToken, answer.state)
    if (!taken) throw new SignInFailure('sign-in-expired')
    flow = taken.row
    if (answer.repeated)
      throw new SignInFailure('provider-answer-invalid', new Error('a parameter came twice'))
    await client
      .checkIssuer({ issuer: answer.iss, refused: answer.error !== undefined })
      .catch(providerFailure)
    if (answer.error !== undefined) throw refusal(answer.error)
    if (!answer.code) throw new SignInFailure('provider-answer-invalid', new Error('no code came'))
    // The path is part of what was begun: the provider's name in it is the one of the row.
    const url = new URL(flow.callback_url)
    url.search = new URLSearchParams({ code: answer.code, state: answer.state }).toString()
    const { nonce } = flow
    const vouched = await client
      .identity({
        url,
        state: answer.state,
        verifier: taken.verifier,
        nonce: nonce ?? undefined,
        reauthenticationAskedAt: flow.reauthentication_asked_at ?? undefined,
        givenName: answer.name,
      })
      .catch(providerFailure)
    return { ok: true, signedIn: await parts.signIn.complete(flow, vouched, browser) }
  } catch (error) {
    const failure = error instanceof SignInFailure ? error : new SignInFailure('unavailable', error)
    const target =
      flow &&
      appTarget(flow, parts.baseUrl(), {
        error: appErrors[failure.code] ?? 'server_error',
        // For the app's own log. Words of the provider or of a hook are not the app's to show.
        error_description: `The sign-in failed. Support id: ${callback.browser.origin.supportId ?? 'none'}`,
      })
    return { ok: false, failure, flow, target }
  }
}

/** Whether the fault is ours: the log then wants to know more. */
export function isOwnFault(failure: SignInFailure): boolean {
  return failure.code === 'hook-failed' || (failure.code === 'unavailable' && !isStorageFault(failure))
}

/** Whether the database did not answer. */
export function isStorageFault({ cause }: SignInFailure): boolean {
  return cause instanceof StorageUnavailable
}

/** What an app is told (RFC 6749, section 4.1.2.1). */
const appErrors: Partial<Record<FailureCode, string>> = {
  'access-denied': 'access_denied',
  'account-blocked': 'access_denied',
  'account-not-admitted': 'access_denied',
  'issuer-changed': 'access_denied',
  refused: 'access_denied',
  'provider-unavailable': 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
}

interface Answer extends Partial<Record<(typeof read)[number], string>> {
  /** A parameter that came twice can be read in two ways: then none of it is used. */
  repeated: boolean
}

function readAnswer(query: string): Answer {
  const parameters = new URLSearchParams(query)
  const answer: Answer = { repeated: false }
  for (const name of read) {
    const [value, ...others] = parameters.getAll(name)
    if (others.length > 0) answer.repeated = true
    if (value !== undefined) answer[name] = value
  }
  // Which of two states was meant cannot be told, so none is spent.
  if (parameters.getAll('state').length > 1) delete answer.state
  return answer
}

function refusal(error: string): SignInFailure {
  const cause = new Error(`the provider answered ${JSON.stringify(error.slice(0, 100))}`)
  // Apple and LinkedIn have words of their own for it.
  if (/^(access_denied|user_cancelled_\w{1,30})$/.test(error))
    return new SignInFailure('access-denied', cause)
  if (error === 'temporarily_unavailable' || error === 'server_error')
    return new SignInFailure('provider-unavailable', cause)
  return new SignInFailure('provider-refused', cause)
}

function providerFailure(error: unknown): never {
  throw new SignInFailure(codeOf(error), error)
}

/** The kind of an error of the exchange, by what openid-client and fetch throw. */
export function codeOf(error: unknown): FailureCode {
  const { name, code, message, status, cause } = error as {
    name?: string
    code?: string
    message?: string
    status?: number
    cause?: unknown
  }
  if (name === 'AccountNotAdmitted') return 'account-not-admitted'
  if (name === 'ReauthenticationUnproven') return 'reauthentication-unproven'
  const answered = status ?? (cause instanceof Response ? cause.status : 0)
  if (answered >= 500 || answered === 429) return 'provider-unavailable'
  if (name === 'ResponseBodyError' || name === 'ProfileRefused' || name === 'WWWAuthenticateChallengeError')
    return 'provider-refused'
  if (name === 'TimeoutError' || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT')
    return 'provider-unavailable'
  if (error instanceof TypeError && /^(request failed|fetch failed|The address)/.test(message ?? ''))
    return 'provider-unavailable'
  return 'provider-answer-invalid'
}
