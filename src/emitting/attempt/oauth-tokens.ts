import { Buffer } from 'node:buffer'
import type { OutboundAgent, Outcome } from '../../network/exchange.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Failure, failureOfError, withoutResolution } from './failures.ts'
import type { Auth } from '../subscribers/credentials.ts'

type OAuthClient = Pick<Auth, 'scope' | 'audience' | 'clientAuthentication'> &
  Record<'tokenUrl' | 'clientId' | 'clientSecret', string>

interface OAuthTokensParts {
  client: OAuthClient
  agent: OutboundAgent
  /** Whether an owner chose the address and sees failures. */
  owned: boolean
  clock: Clock
}

/** An access token and whether this call fetched it, or the reason why it could not be fetched. */
type TokenResult = { token: string; fresh: boolean } | { failure: Failure }

/** Milliseconds for a request to a token endpoint. */
const tokenTimeout = 10_000
/** Bytes of its response. */
const longestAnswer = 64 * 1024
/** Seconds that a token is used without `expires_in`, and at most. */
const defaultLifetime = 300
const longestLifetime = 86_400
/** Milliseconds before its end at which a token is replaced. */
const margin = 30_000

/**
 * The access tokens of one subscriber, by OAuth 2.0 client credentials (RFC 6749, section 4.4). A token is used until it expires or
 * the endpoint rejects it; concurrent attempts share one request. Redirects of a token endpoint are failures.
 */
export class OAuthTokens {
  readonly #parts: OAuthTokensParts
  #token: { value: string; until: number } | undefined
  #pending: Promise<TokenResult> | undefined

  constructor(parts: OAuthTokensParts) {
    this.#parts = parts
  }

  /** Never rejects. */
  async get(): Promise<TokenResult> {
    if (this.#token && this.#parts.clock.now() < this.#token.until)
      return { token: this.#token.value, fresh: false }
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** Forgets a token that the endpoint answered with 401, unless it was replaced already. */
  reject(token: string): void {
    if (this.#token?.value === token) this.#token = undefined
  }

  async #fetch(): Promise<TokenResult> {
    const { client, agent, clock, owned } = this.#parts
    const { origin, pathname, search } = new URL(client.tokenUrl)
    const exchange = agent.exchange({
      origin,
      path: pathname + search,
      method: 'POST',
      ...requestOf(client),
      responseLimit: longestAnswer + 1,
    })
    const cancel = clock.after(tokenTimeout, () =>
      exchange.cut(new Error('the token endpoint did not respond in time')),
    )
    const outcome = await exchange.ended
    cancel()
    const read = readToken(outcome)
    if (typeof read === 'string') {
      const found = outcome.error === undefined ? undefined : failureOfError(outcome)
      const cause = found && (owned ? withoutResolution(found, outcome) : found)
      return { failure: { kind: 'token-failed', message: `no access token: ${cause?.message ?? read}` } }
    }
    const lifetime = Math.min(longestLifetime, read.lifetime) * 1000
    this.#token = { value: read.token, until: clock.now() + lifetime - Math.min(margin, lifetime / 2) }
    return { token: read.token, fresh: true }
  }
}

function requestOf({ clientId, clientSecret, scope, audience, clientAuthentication }: OAuthClient) {
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scope !== undefined) form.set('scope', scope)
  if (audience !== undefined) form.set('audience', audience)
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  }
  if (clientAuthentication === 'body') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  } else {
    const pair = [clientId, clientSecret].map((part) => new URLSearchParams({ '': part }).toString().slice(1))
    headers['authorization'] = basicAuthorization(pair[0]!, pair[1]!)
  }
  return { headers, body: Buffer.from(form.toString()) }
}

export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** Returns why there is no token as text. Nothing of the response but a well-formed error code is shown. */
function readToken({ error, status, body }: Outcome): { token: string; lifetime: number } | string {
  if (error !== undefined || status === null) return 'the token endpoint did not answer'
  let json: Record<string, unknown> | undefined
  try {
    json = JSON.parse(body?.toString() ?? '') as Record<string, unknown>
  } catch {
    // The caller gets the status, or that the token is missing.
  }
  if (status !== 200) {
    const code =
      typeof json?.['error'] === 'string' && /^[\w.-]{1,64}$/.test(json['error']) ? ` (${json['error']})` : ''
    return `the token endpoint returned HTTP ${status}${code}`
  }
  const { access_token: token, token_type: type = 'Bearer', expires_in: lifetime } = json ?? {}
  // It becomes a header.
  if (typeof token !== 'string' || !/^[!-~]{1,16384}$/.test(token))
    return 'the response of the token endpoint has no access_token'
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return 'the access token is not a bearer token'
  const seconds = Number(lifetime ?? defaultLifetime)
  return { token, lifetime: seconds >= 0 ? seconds : 0 }
}
