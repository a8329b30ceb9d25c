import type { AuditOrigin } from '../accounts/audit/audit.ts'
import type { NativeOutcome, SignInNative } from '../accounts/index.ts'
import { Problem } from '../errors.ts'
import { appError, originOf } from './flow/callback-route.ts'
import { providerFailure, recordFailure, SignInFailure } from './flow/failures.ts'
import { IdTokenRejected } from './provider-client/id-token.ts'
import type { LoginServices } from './services.ts'
import { useAssertion } from '../storage/sql-text.ts'

/** Signs people in with id_tokens: with the same checks, hooks, audit log and events as in a browser. */
export function nativeSignIn(parts: LoginServices): SignInNative {
  return async (request, { provider: name, clientId, entry, ...token }, issue) => {
    const providerClient = parts.providers.get(name)
    const provider = providerClient?.provider
    if (!providerClient || provider?.kind !== 'openid' || provider.audiences.length === 0)
      return unavailable(name, provider !== undefined)
    const origin = originOf(request)
    try {
      const { verified, used } = await providerClient
        .nativeIdentity(provider, token)
        .catch((error: unknown) => {
          throw providerFailure(error)
        })
      const newcomer = { verified, origin, entry }
      // The id_token is used up if and only if the sign-in succeeds.
      const tokens = await parts.signIn.inApp(newcomer, clientId, async (tx, user) => {
        if (await useAssertion(tx, used)) return issue(tx, user)
        throw new SignInFailure('provider-answer-invalid', new IdTokenRejected('it was used before'))
      })
      parts.signInsEnded.inc({ provider: name, outcome: 'ok' })
      return { ok: true, tokens }
    } catch (error) {
      if (!(error instanceof SignInFailure)) throw error
      await recordFailure(parts, request, { provider: name, failure: error })
      return answerOf(error, origin)
    }
  }
}

function unavailable(name: string, exists: boolean): NativeOutcome<never> {
  const why = exists
    ? `the provider ${name} accepts no id_tokens: set its AUDIENCES (OpenID Connect only)`
    : 'there is no provider with this name'
  return { ok: false, status: 404, error: 'invalid_request', error_description: why }
}

/** With `login.sameAddress: 'offer'`: the app has to ask, instead of the page. */
const accountExists =
  'A user already has this verified address. To link the identity, let the user sign in with a browser. Otherwise, send new_user: true.'

/** @throws Problem `provider-unavailable`; SignInFailure for a hook that failed */
function answerOf(failure: SignInFailure, origin: AuditOrigin): NativeOutcome<never> {
  const { code, cause } = failure
  if (code === 'provider-unavailable') throw new Problem(code, { retryAfter: 10 })
  if (code === 'hook-failed') throw failure
  const answer = appError(failure, origin)
  if (code === 'account-exists')
    return { ok: false, status: 400, error: 'account_exists', error_description: accountExists }
  if (code !== 'provider-answer-invalid') return { ok: false, status: 400, ...answer }
  const why = cause instanceof IdTokenRejected ? cause.message : 'its signature, issuer or time is wrong'
  const description = `The id_token was rejected: ${why}. ${answer.error_description}`
  return { ok: false, status: 400, error: 'invalid_grant', error_description: description }
}
