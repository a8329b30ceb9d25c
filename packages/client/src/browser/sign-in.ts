import { errorOf, PosternError } from '../errors.ts'
import { addressOf, type Fetch } from '../http.ts'
import { postForm, requestTokens, type Tokens } from '../oauth.ts'
import { beginFlow, takeFlow } from './flows.ts'
import { checkIdToken, readIdToken, type IdTokenClaims } from './id-token.ts'
import { alone, page } from './page.ts'
import { createTokenStore, type Keep, type TokenStore } from './token-store.ts'

export interface SignInOptions {
  /** The address of the service. */
  url: string
  clientId: string
  /** Registered for this client; compared as a whole text. */
  redirectUri: string
  /** Space-separated. Default `openid profile email`. */
  scope?: string | undefined
  /** Default `memory`: a reload of the page signs in again, without a question while the session at the service lives. */
  keep?: Keep | undefined
  /** Where the browser goes after `signOut`; registered for this client. */
  postLogoutRedirectUri?: string | undefined
  /** Paths, where they are not those of the service's OpenID Provider. */
  endpoints?: Partial<Endpoints> | undefined
  fetch?: Fetch | undefined
  /** Milliseconds for one answer. Default 10,000. */
  timeout?: number | undefined
}

export interface Endpoints {
  authorize: string
  token: string
  revoke: string
  endSession: string
}

export interface SignInRequest {
  /** Given back by `handleCallback`, such as the path of the page that the person wanted. */
  returnTo?: string
  /** Further parameters: `prompt`, `login_hint`, `provider`, `max_age`, `resource`. */
  parameters?: Readonly<Record<string, string>>
}

export interface SignIn {
  /** Sends the browser to sign in. `parameters: { prompt: 'none' }` asks nothing, and fails with `login_required` without a session. */
  signIn(request?: SignInRequest): Promise<void>
  /**
   * On the page of the redirect URI: exchanges the code for tokens and takes it out of the address. Null when the address holds no
   * answer. @throws PosternError with the code of OAuth, `unknown-state`, `wrong-issuer` or `invalid-token`
   */
  handleCallback(): Promise<{ returnTo: string | null } | null>
  /** An access token that is valid for half a minute at least, renewed if necessary; `undefined` when nobody is signed in. */
  getAccessToken(): Promise<string | undefined>
  /** Who is signed in, by the id_token; null when nobody is. */
  getUser(): IdTokenClaims | null
  /** Forgets and revokes the tokens, then ends the session at the service, unless `local`. */
  signOut(options?: { local?: boolean }): Promise<void>
  /** Calls back when somebody signs in or out, here or in another tab. Returns what ends it. */
  onChange(listener: () => void): () => void
}

const provider: Endpoints = {
  authorize: '/oauth2/authorize',
  token: '/oauth2/token',
  revoke: '/oauth2/revoke',
  endSession: '/oauth2/end-session',
}
/** Milliseconds before the end of an access token at which it is renewed. */
const renewEarly = 30_000

/** Signs people in to a page without a server of its own, with PKCE (RFC 7636) and the checks of RFC 9700. */
export function createSignIn(options: SignInOptions): SignIn {
  return new BrowserSignIn(options)
}

class BrowserSignIn implements SignIn {
  readonly #options: SignInOptions
  readonly #issuer: string
  readonly #name: string
  readonly #store: TokenStore
  readonly #http: { fetch: Fetch | undefined; timeout: number }
  readonly #listeners = new Set<() => void>()
  #renewing: Promise<Tokens | undefined> | undefined

  constructor(options: SignInOptions) {
    this.#options = options
    this.#issuer = options.url.replace(/(?<!\/)\/+$/, '')
    this.#name = `postern:${this.#issuer}:${options.clientId}`
    this.#store = createTokenStore(options.keep ?? 'memory', this.#name)
    this.#http = { fetch: options.fetch, timeout: options.timeout ?? 10_000 }
  }

  async signIn({ returnTo, parameters = {} }: SignInRequest = {}): Promise<void> {
    const { clientId, redirectUri, scope = 'openid profile email' } = this.#options
    const { state, nonce, challenge } = await beginFlow(`${this.#name}:`, returnTo ?? null)
    const query = new URLSearchParams({
      ...parameters,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    page.location.assign(`${this.#address('authorize')}?${query.toString()}`)
  }

  async handleCallback(): Promise<{ returnTo: string | null } | null> {
    const { href } = page.location
    const address = new URL(href)
    const { searchParams } = address
    const [code, state, error] = ['code', 'state', 'error'].map((name) => searchParams.get(name))
    if ((code ?? error ?? null) === null || !state) return null
    const answer = { iss: searchParams.get('iss'), description: searchParams.get('error_description') }
    for (const name of ['code', 'state', 'iss', 'error', 'error_description']) searchParams.delete(name)
    // Neither a reload nor the history must find the code again.
    page.history.replaceState(null, '', address.href)
    const flow = takeFlow(`${this.#name}:`, state)
    if (!flow) throw refuse('unknown-state', 'This tab did not start this sign-in.')
    // RFC 9207: the answer of another server must not get a code to the token endpoint of this one.
    if (answer.iss !== this.#issuer) throw refuse('wrong-issuer', 'The answer names another issuer.')
    if (error) throw refuse(error, answer.description ?? error)
    const { clientId, redirectUri } = this.#options
    const tokens = await this.#request({
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: redirectUri,
      code_verifier: flow.verifier,
    })
    if (tokens.idToken !== undefined)
      checkIdToken(tokens.idToken, { issuer: this.#issuer, clientId, nonce: flow.nonce })
    this.#write(tokens)
    return { returnTo: flow.returnTo }
  }

  async getAccessToken(): Promise<string | undefined> {
    const held = this.#store.read()
    if (!held || isFresh(held)) return held?.accessToken
    // Calls of one page share one renewal; tabs wait for each other and take the newest tokens.
    this.#renewing ??= alone(this.#name, () => this.#renew()).finally(() => (this.#renewing = undefined))
    return (await this.#renewing)?.accessToken
  }

  getUser(): IdTokenClaims | null {
    const idToken = this.#store.read()?.idToken
    return idToken === undefined ? null : readIdToken(idToken)
  }

  async signOut({ local = false }: { local?: boolean } = {}): Promise<void> {
    const { clientId, postLogoutRedirectUri } = this.#options
    const held = this.#store.read()
    this.#write(undefined)
    if (held) await this.#revoke(held)
    if (local) return
    const query = new URLSearchParams({ client_id: clientId })
    if (held?.idToken !== undefined) query.set('id_token_hint', held.idToken)
    if (postLogoutRedirectUri !== undefined) query.set('post_logout_redirect_uri', postLogoutRedirectUri)
    page.location.assign(`${this.#address('endSession')}?${query.toString()}`)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    const ofOtherTab = ({ key }: { key: string | null }): void => {
      if (key === this.#name || key === null) listener()
    }
    page.addEventListener('storage', ofOtherTab)
    return () => {
      this.#listeners.delete(listener)
      page.removeEventListener('storage', ofOtherTab)
    }
  }

  /** Runs under the lock. */
  async #renew(): Promise<Tokens | undefined> {
    const held = this.#store.read()
    if (!held || isFresh(held)) return held
    if (held.refreshToken === undefined) {
      if (held.expiresAt <= Date.now()) this.#write(undefined)
      return this.#store.read()
    }
    try {
      const renewed = await this.#request({ grant_type: 'refresh_token', refresh_token: held.refreshToken })
      const present = this.#store.read()
      // The person signed out, or in again, while the answer was on its way.
      if (!present) await this.#revoke(renewed)
      if (present?.refreshToken !== held.refreshToken) return present
      // A renewal need not repeat the id_token, nor replace the refresh token.
      const tokens = { ...held, ...renewed }
      this.#write(tokens)
      return tokens
    } catch (error) {
      const present = this.#store.read()
      if (present?.refreshToken !== held.refreshToken) return present
      if (error instanceof PosternError && error.code === 'invalid_grant') {
        this.#write(undefined)
        return undefined
      }
      if (held.expiresAt > Date.now()) return held
      throw error
    }
  }

  /** Without an answer the token ends with the session, or by its age. */
  async #revoke({ refreshToken, accessToken }: Tokens): Promise<void> {
    const fields = { token: refreshToken ?? accessToken, client_id: this.#options.clientId }
    await postForm(this.#address('revoke'), fields, this.#http).catch(() => undefined)
  }

  #request(fields: Record<string, string>): Promise<Tokens> {
    return requestTokens(this.#address('token'), { ...fields, client_id: this.#options.clientId }, this.#http)
  }

  #write(tokens: Tokens | undefined): void {
    const changed = (this.#store.read() === undefined) !== (tokens === undefined)
    this.#store.write(tokens)
    if (changed) for (const listener of this.#listeners) listener()
  }

  #address(endpoint: keyof Endpoints): string {
    return addressOf(this.#options.url, this.#options.endpoints?.[endpoint] ?? provider[endpoint])
  }
}

const isFresh = ({ expiresAt }: Tokens): boolean => expiresAt - renewEarly > Date.now()

/** What a page gets in its address is not to be trusted: the error is one of the page, not of the service. */
function refuse(code: string, detail: string): PosternError {
  return errorOf(code, 400, { detail })
}
