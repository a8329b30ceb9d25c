import type { Session } from '../../accounts/sessions/session-lookup.ts'
import type { ReauthenticationProof } from '../clients/client.ts'
import type { AuthorizationRequest } from './request-parameters.ts'

/** What a sign-in has to do before the app gets a code. */
export interface SignInNeeds {
  /** The provider must authenticate the person again. */
  reauthenticate: boolean
  /** The person must be able to choose another account. */
  selectAccount: boolean
  /** Not satisfied by the session. */
  acrValues: readonly string[]
  /** The person signed in for this request, and the provider did not prove that it authenticated them again. */
  unproven: boolean
}

/** Milliseconds for differences between the clocks of the provider and this machine. */
const tolerance = 60_000
/**
 * Milliseconds from a sign-in to the request that waited for it: the browser comes back at once. An older sign-in may be for
 * another request, because one that waits for up to 20 minutes can be sent to another browser.
 */
const returnsWithin = 120_000

/**
 * What the session lacks for a request; `undefined` when it is enough.
 * @param at.askedAt when the request arrived: a sign-in that was completed later counts for this request
 * @param at.accepts what the client accepts from a provider that reports no time of the authentication
 */
export function missingSignIn(
  session: Session | undefined,
  { prompt, maxAge, acrValues }: AuthorizationRequest,
  { askedAt, now, accepts }: { askedAt: number; now: number; accepts: ReauthenticationProof },
): SignInNeeds | undefined {
  const isForRequest =
    session !== undefined && session.createdAt >= askedAt && session.createdAt > now - returnsWithin
  const proof = session?.authenticationProof ?? 'asserted'
  const isProven = proof === 'verified' || (proof === 'asserted' && accepts === 'when-supported')
  const isFresh = isForRequest && session.authenticatedAt >= askedAt - tolerance && isProven
  const isTooOld =
    maxAge !== undefined &&
    (session === undefined || !isProven || now - session.authenticatedAt > maxAge * 1000)
  const reauthenticate = !isFresh && (prompt.has('login') || isTooOld)
  const selectAccount = !isForRequest && prompt.has('select_account')
  // A voluntary claim (OpenID Connect Core, section 5.5.1.1): after one attempt the app gets the context that there is.
  const lacksContext = !isForRequest && acrValues.length > 0 && !satisfies(session, acrValues)
  if (session !== undefined && !reauthenticate && !selectAccount && !lacksContext) return undefined
  const unproven = reauthenticate && isForRequest && !isProven
  return { reauthenticate, selectAccount, acrValues: lacksContext ? acrValues : [], unproven }
}

function satisfies(session: Session | undefined, acrValues: readonly string[]): boolean {
  const reached = session?.acr?.split(' ') ?? []
  return acrValues.some((acr) => reached.includes(acr))
}
