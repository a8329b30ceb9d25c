import type { AppRequest } from '../../accounts/sessions/authentication.ts'
import type { BoundBrowser } from '../../http/responses/host-cookie.ts'
import { reuseGrace } from '../../accounts/tokens/token-families.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { sleep } from '../../runtime/clock.ts'
import { type SealContext, sealedColumns, UnknownMasterKey } from '../../crypto/keyring.ts'
import { codeChallenge, hashToken, newToken } from '../../crypto/secrets.ts'
import type { Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import { deleteExpired } from '../../storage/sql-text.ts'
import type { AuthenticationDemands } from '../providers/preset.ts'
import type { ResolvedProvider } from '../providers/resolved-provider.ts'
import type { VerifiedIdentity } from '../provider-client/profile.ts'
import { SignInFailure } from './failures.ts'

const contextOf = sealedColumns.flowVerifier.context
const pendingContextOf = sealedColumns.flowPending.context

/** Milliseconds from the start to the callback at most. */
const lifetime = 10 * 60_000
/** Milliseconds for which a row outlives its end: a callback that is too late still knows where its sign-in leads. */
const retention = 3_600_000
/** Milliseconds between two checks of a callback that is still running, and the most checks: requests to a provider take seconds. */
const pollInterval = 200
const mostPolls = 100
/** Characters of a pending identity as JSON; the provider's profile is nearly all of it. */
const longestPending = 256 * 1024
/** The purpose of the key from which the token of an outcome is derived. */
const outcomePurpose = 'outcome of a sign-in'

/** What a flow is started for. */
export interface Intent {
  returnTo: string
  app?: AppRequest | undefined
  demands?: AuthenticationDemands | undefined
  entry?: Entry | undefined
  /** The flow whose pending identity this sign-in links. */
  offer?: Offer | undefined
  /** The session to whose user the identity is linked; `undefined` for a sign-in. */
  link?: { userId: string; sessionId: string } | undefined
}

/** What a person chose or has for a first sign-in. */
export interface Entry {
  /** The person wants a new account, even if another one has the same address. */
  newUser: boolean
  /** SHA-256 of the token of an invitation. */
  invitation: Uint8Array | null
}

export function entryOf({ new_user: newUser, invitation }: Row<'flows'>): Entry {
  return { newUser: newUser === 1, invitation }
}

/** The app that a flow is for; `undefined` for a browser's sign-in. */
export function appOf(flow: Row<'flows'>): AppRequest | undefined {
  const { client_id: clientId, client_redirect_uri: redirectUri, client_challenge: challenge } = flow
  if (clientId === null || redirectUri === null || challenge === null) return undefined
  return { clientId, redirectUri, challenge, state: flow.client_state }
}

/** `again`: the state was used moments ago. `over`: it was used before, or has expired. */
type FoundFlow =
  /** This callback used it. The verifier is `undefined` without PKCE, and null if its master key was removed after the start. */
  | { state: 'first'; row: Row<'flows'>; verifier: string | undefined | null }
  | { state: 'again' | 'over'; row: Row<'flows'> }
  | { state: 'unknown' }

/** A flow whose person has to choose between linking the verified identity and a new user. */
export interface Offer {
  row: Row<'flows'>
  verified: VerifiedIdentity
}

/** Identifies an offer in URLs and forms. It is not secret: only the browser of its flow can use it. */
export function offerId({ row: { state_hash: hash } }: Pick<Offer, 'row'>): string {
  return Buffer.from(hash).toString('base64url')
}

/** How a sign-in ended, for the same callback again. It contains no secret: `Flows.tokenOf` returns the same token again. */
export type FlowOutcome =
  | { kind: 'session'; sessionId: string }
  | { kind: 'app' }
  /** Also while the person chooses; see `Flows.offer`. */
  | { kind: 'failed'; location: string }

type FlowNeeds = Pick<ModuleParts, 'database' | 'keyring' | 'clock' | 'baseUrl'>

/**
 * Sign-ins in progress: one row each, under the hash of its `state`. A row is bound to the provider and to the browser, so no other
 * browser can finish the flow.
 */
export class Flows {
  readonly #parts: FlowNeeds

  constructor(parts: FlowNeeds) {
    this.#parts = parts
  }

  /**
   * Starts a flow. Returns its address at the provider.
   * @param browserHash of the browser's binding cookie
   * @throws DiscoveryFailed
   */
  async start(
    providerClient: ProviderClient,
    browserHash: Uint8Array,
    { returnTo, app, demands, entry, offer, link }: Intent,
  ): Promise<URL> {
    const { database, keyring, clock, baseUrl } = this.#parts
    const { name, kind, pkce, nonce: sendsNonce } = providerClient.provider
    const now = clock.now()
    const state = newToken()
    const stateHash = hashToken(state)
    const verifier = pkce ? newToken() : undefined
    const nonce = kind === 'openid' && sendsNonce ? newToken() : undefined
    // Never from the request's Host header: its sender could choose where the provider sends the code.
    const redirectUri = `${baseUrl()}/auth/${name}/callback`
    const challenge = verifier === undefined ? undefined : codeChallenge(verifier)
    const url = await providerClient.authorizationUrl({ redirectUri, state, challenge, nonce, demands })
    const flow: Row<'flows'> = {
      state_hash: stateHash,
      browser_hash: browserHash,
      provider: name,
      callback_url: redirectUri,
      purpose: link ? 'link' : 'login',
      user_id: link?.userId ?? null,
      session_id: link?.sessionId ?? null,
      return_to: returnTo,
      nonce: nonce ?? null,
      verifier: verifier === undefined ? null : keyring.seal(verifier, contextOf({ state_hash: stateHash })),
      client_id: app?.clientId ?? null,
      client_redirect_uri: app?.redirectUri ?? null,
      client_state: app?.state ?? null,
      client_challenge: app?.challenge ?? null,
      new_user: entry?.newUser === true ? 1 : 0,
      invitation: entry?.invitation ?? null,
      pending: null,
      offer_hash: offer?.row.state_hash ?? null,
      expires_at: now + lifetime,
      reauthentication_asked_at: demands?.reauthenticate === true ? now : null,
      used_at: null,
      outcome: null,
    }
    await database.single((db) => db.insertInto('flows').values(flow).execute())
    return url
  }

  /**
   * Uses a state, in one statement, so that only one of many callbacks does. A callback of another browser or for another provider
   * finds nothing: it cannot use up a foreign sign-in.
   */
  async consume(provider: string, browser: BoundBrowser, state: string): Promise<FoundFlow> {
    const { database, clock } = this.#parts
    const now = clock.now()
    const stateHash = hashToken(state)
    const row = await database.single((db) =>
      db
        .updateTable('flows')
        .set({ used_at: now })
        .where('state_hash', '=', stateHash)
        .where('browser_hash', 'in', browser.hashes)
        .where('provider', '=', provider)
        .where('expires_at', '>', now)
        .where('used_at', 'is', null)
        .returningAll()
        .executeTakeFirst(),
    )
    if (row) {
      const verifier = row.verifier === null ? undefined : this.#open(row.verifier, contextOf(row))
      return { state: 'first', row, verifier }
    }
    const used = await this.#find(stateHash, browser)
    if (used?.provider !== provider) return { state: 'unknown' }
    return { state: this.isRecent(used) ? 'again' : 'over', row: used }
  }

  /** The outcome of a state that was used moments ago. Waits while its callback runs, here or in another process. */
  async outcomeOf({ state_hash: hash }: Row<'flows'>): Promise<FlowOutcome | undefined> {
    const { database, clock } = this.#parts
    for (let poll = 0; poll < mostPolls; poll += 1) {
      if (poll > 0) await sleep(clock, pollInterval)
      const row = await database.reader
        .selectFrom('flows')
        .select('outcome')
        .where('state_hash', '=', hash)
        .executeTakeFirst()
      if (!row) return undefined
      if (row.outcome !== null) return JSON.parse(row.outcome) as FlowOutcome
    }
    return undefined
  }

  /** Stores how a flow ended. */
  async settle(tx: Tx, { state_hash: hash }: Row<'flows'>, outcome: FlowOutcome): Promise<void> {
    await tx
      .updateTable('flows')
      .set({ outcome: JSON.stringify(outcome), verifier: null })
      .where('state_hash', '=', hash)
      .execute()
  }

  /**
   * The session token, or the app's code, that this flow ends in. The same callback again gets the same one, and it is not stored:
   * it follows from the master key, the state and the cookie of the browser.
   */
  tokenOf({ browser_hash: hash }: Row<'flows'>, browser: BoundBrowser, state: string): string {
    const value = browser.valueOf(hash) ?? ''
    return this.#parts.keyring.sign(`${state}\n${value}`, outcomePurpose).toString('base64url')
  }

  /**
   * Stores the verified identity of a flow for ten minutes, until the person chooses in the same browser.
   * @param location of the page with the choice
   * @throws SignInFailure `account-exists` if the provider's profile is too large to store
   */
  async offer(
    { state_hash: hash }: Row<'flows'>,
    verified: VerifiedIdentity,
    location: string,
  ): Promise<void> {
    const { database, keyring, clock } = this.#parts
    const json = JSON.stringify(verified)
    if (json.length > longestPending)
      throw new SignInFailure('account-exists', new Error('the profile is too large to store'))
    const pending = keyring.seal(json, pendingContextOf({ state_hash: hash }))
    const outcome = JSON.stringify({ kind: 'failed', location } satisfies FlowOutcome)
    await database.single((db) =>
      db
        .updateTable('flows')
        .set({ pending, outcome, verifier: null, expires_at: clock.now() + lifetime })
        .where('state_hash', '=', hash)
        .execute(),
    )
  }

  /** This browser's flow with this hash of its state, and its pending identity, unless that was used or has expired. */
  async findOffer(hash: Uint8Array, browser: BoundBrowser): Promise<Partial<Offer>> {
    const { clock } = this.#parts
    const row = await this.#find(hash, browser)
    if (!row) return {}
    if (row.pending === null || row.expires_at <= clock.now()) return { row }
    const json = this.#open(row.pending, pendingContextOf(row))
    if (json === null) return { row }
    const verified = JSON.parse(json) as VerifiedIdentity
    const { tokens } = verified
    if (tokens?.expiresIn === undefined) return { row, verified }
    // `expiresIn` was relative to the callback.
    const passed = Math.ceil((clock.now() - (row.used_at ?? 0)) / 1000)
    const expiresIn = Math.max(0, tokens.expiresIn - passed)
    return { row, verified: { ...verified, tokens: { ...tokens, expiresIn } } }
  }

  /** The offer for which a sign-in at the earlier provider was started, if it is still open. */
  async offerOf({ offer_hash: hash }: Row<'flows'>, browser: BoundBrowser): Promise<Offer | undefined> {
    const { row, verified } = hash === null ? {} : await this.findOffer(hash, browser)
    return row && verified && { row, verified }
  }

  /** Uses up a flow's pending identity. @throws SignInFailure `sign-in-expired` if it was used before, or has expired */
  async useOffer(tx: Tx, { state_hash: hash }: Row<'flows'>): Promise<void> {
    const now = this.#parts.clock.now()
    const { numUpdatedRows } = await tx
      .updateTable('flows')
      .set({ pending: null, used_at: now })
      .where('state_hash', '=', hash)
      .where('pending', 'is not', null)
      .where('expires_at', '>', now)
      .executeTakeFirst()
    if (numUpdatedRows === 0n)
      throw new SignInFailure('sign-in-expired', new Error('the choice was made before, or came too late'))
  }

  /** Whether a flow was used moments ago: a repeated request then gets its outcome. */
  isRecent({ used_at: usedAt }: Row<'flows'>): boolean {
    return usedAt !== null && usedAt > this.#parts.clock.now() - reuseGrace
  }

  /** This browser's flow, in any state. */
  async #find(stateHash: Uint8Array, { hashes }: BoundBrowser): Promise<Row<'flows'> | undefined> {
    if (hashes.length === 0) return undefined
    return this.#parts.database.reader
      .selectFrom('flows')
      .selectAll()
      .where('state_hash', '=', stateHash)
      .where('browser_hash', 'in', hashes)
      .executeTakeFirst()
  }

  /** Null if the master key was removed. */
  #open(sealed: Uint8Array, context: SealContext): string | null {
    try {
      return this.#parts.keyring.open(sealed, context).toString()
    } catch (error) {
      if (error instanceof UnknownMasterKey) return null
      throw error
    }
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'flows', now - retention)
  }
}

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
