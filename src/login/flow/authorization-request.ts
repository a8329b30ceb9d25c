import type { ResolvedProvider } from '../providers/resolved-provider.ts'

/**
 * Seconds: one year. `max_age` makes `auth_time` mandatory in the id_token (OpenID Connect Core, section 3.1.2.1). A value
 * that no session reaches makes no provider reauthenticate anybody.
 */
const longestAge = '31536000'

export interface AuthorizationRequest {
  redirectUri: string
  state: string
  /** The PKCE challenge (S256). */
  challenge: string | undefined
  nonce: string | undefined
  /** What the provider is asked for beyond a plain sign-in. */
  demands?: AuthenticationDemands | undefined
  /** `prompt_values_supported` of the discovery document (Initiating User Registration via OpenID Connect 1.0, section 4.1). */
  supportedPrompts?: unknown
}

export interface AuthenticationDemands {
  /** Reauthenticate the person, even with a session at the provider. */
  reauthenticate: boolean
  /** Authenticate with a second factor, too. */
  secondFactor: boolean
  /** The accepted `acr_values`; with an empty list the provider decides. */
  acrValues: readonly string[]
  /** Let the person choose an account, even with a session at the provider. */
  selectAccount: boolean
  /** Who wants to sign in, such as an e-mail address. */
  loginHint: string | undefined
}

/** The parameters of an authorization request. Configured parameters cannot replace those of the flow. */
export function authorizationParameters(
  provider: ResolvedProvider,
  { redirectUri, state, challenge, nonce, demands, supportedPrompts }: AuthorizationRequest,
): Record<string, string> {
  const { scope, authParams, provesAuthentication } = provider
  return {
    ...(provesAuthentication && { max_age: longestAge }),
    ...authParams,
    ...(demands && demandParameters(provider, demands, supportedPrompts)),
    redirect_uri: redirectUri,
    ...(scope !== '' && { scope }),
    state,
    ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: 'S256' }),
    ...(nonce !== undefined && { nonce }),
  }
}

/**
 * Asks the provider to reauthenticate the person (OpenID Connect Core, section 3.1.2.1), with the standard parameters and
 * those of its preset. They replace a configured `prompt`, which could prevent the reauthentication.
 */
function demandParameters(
  { kind, provesAuthentication, quirks }: ResolvedProvider,
  demands: AuthenticationDemands,
  supportedPrompts: unknown,
): Record<string, string> {
  const { reauthenticate, acrValues, selectAccount, loginHint } = demands
  return {
    ...(kind === 'openid' && selectAccount && { prompt: accountPrompt(supportedPrompts) }),
    ...(kind === 'openid' && loginHint !== undefined && { login_hint: loginHint }),
    ...(reauthenticate && provesAuthentication && { prompt: 'login', max_age: '0' }),
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    ...quirks.demandParams?.(demands),
  }
}

/**
 * The prompt that lets the person change the account. Keycloak ignores `select_account` and signs the same person in again;
 * its page for `login` has a button for another account, and it lists the prompts that it knows.
 */
function accountPrompt(supported: unknown): string {
  const isMissing =
    Array.isArray(supported) && supported.includes('login') && !supported.includes('select_account')
  return isMissing ? 'login' : 'select_account'
}
