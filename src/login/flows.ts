import type { Clock } from '../runtime/clock.ts'
import { UnknownMasterKey, type Keyring } from '../crypto/keyring.ts'
import { sealedColumns } from '../crypto/sealed-columns.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { Database } from '../storage/database.ts'
import type { FlowsTable } from '../storage/tables.ts'
import { challengeOf } from './authorization-codes.ts'
import type { AppRequest } from './clients.ts'
import type { AuthenticationDemands, ProviderClient } from './provider-client.ts'
import { insertFlow, sweepFlows, takeFlow } from './store.ts'

const contextOf = sealedColumns.flowVerifier.context

/** Milliseconds that a person has between the start and the callback. */
const lifetime = 10 * 60_000

/** What a sign-in is begun for. */
export type Intent =
  | {
      purpose: 'login'
      returnTo: string
      app?: AppRequest | undefined
      demands?: AuthenticationDemands | undefined
    }
  | { purpose: 'link'; returnTo: string; userId: string; sessionId: string }

/** A sign-in that was begun and has come back. */
export interface TakenFlow {
  row: FlowsTable
  verifier: string | undefined
}

/**
 * Sign-ins under way: a row each, under the hash of its `state`. The row is bound to the provider and to a cookie of the
 * browser that stays the same, so that several tabs can sign in side by side and nobody can finish what another browser
 * began.
 */
export class Flows {
  readonly #database: Database
  readonly #keyring: Keyring
  readonly #clock: Clock
  readonly #baseUrl: () => string

  constructor(parts: { database: Database; keyring: Keyring; clock: Clock; baseUrl: () => string }) {
    this.#database = parts.database
    this.#keyring = parts.keyring
    this.#clock = parts.clock
    this.#baseUrl = parts.baseUrl
  }

  /** Begins a sign-in and gives the address at the provider. @throws when the provider cannot be discovered. */
  async begin(client: ProviderClient, browser: string, intent: Intent): Promise<URL> {
    const { name, kind, pkce, nonce: sendsNonce } = client.provider
    const now = this.#clock.now()
    const state = newToken()
    const stateHash = hashToken(state)
    const verifier = pkce ? newToken() : undefined
    const nonce = kind === 'openid' && sendsNonce ? newToken() : undefined
    // Never from the request's Host: whoever sends that could choose where the provider sends the code.
    const redirectUri = `${this.#baseUrl()}/auth/${name}/callback`
    const challenge = verifier === undefined ? undefined : challengeOf(verifier)
    const demands = intent.purpose === 'login' ? intent.demands : undefined
    const url = await client.authorizationUrl({ redirectUri, state, challenge, nonce, demands })
    const app = intent.purpose === 'login' ? intent.app : undefined
    const linker = intent.purpose === 'link' ? intent : undefined
    await insertFlow(this.#database, {
      state_hash: stateHash,
      browser_hash: hashToken(browser),
      provider: name,
      callback_url: redirectUri,
      purpose: intent.purpose,
      user_id: linker?.userId ?? null,
      session_id: linker?.sessionId ?? null,
      return_to: intent.returnTo,
      nonce: nonce ?? null,
      verifier:
        verifier === undefined ? null : this.#keyring.seal(verifier, contextOf({ state_hash: stateHash })),
      client_id: app?.clientId ?? null,
      client_redirect_uri: app?.redirectUri ?? null,
      client_state: app?.state ?? null,
      client_challenge: app?.challenge ?? null,
      client_scope: null,
      expires_at: now + lifetime,
      reauthentication_asked_at: demands?.anew === true ? now : null,
    })
    return url
  }

  /** Spends a state. `undefined` when it was not begun here, by this browser, for this provider, or not any more. */
  async take(provider: string, browser: string, state: string): Promise<TakenFlow | undefined> {
    const stateHash = hashToken(state)
    const row = await takeFlow(
      this.#database,
      { stateHash, browserHash: hashToken(browser), provider },
      this.#clock.now(),
    )
    if (!row) return undefined
    const verifier = row.verifier === null ? undefined : this.#open(row, row.verifier)
    return verifier === null ? undefined : { row, verifier }
  }

  /** Null when the master key that sealed it was taken away while the sign-in was under way: it has to begin again. */
  #open(row: FlowsTable, verifier: Uint8Array): string | null {
    try {
      return this.#keyring.open(verifier, contextOf(row)).toString()
    } catch (error) {
      if (error instanceof UnknownMasterKey) return null
      throw error
    }
  }

  sweep(now: number): Promise<void> {
    return sweepFlows(this.#database, now)
  }
}
