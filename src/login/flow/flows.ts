import type { Clock } from '../../runtime/clock.ts'
import { UnknownMasterKey, type Keyring } from '../../crypto/keyring.ts'
import { sealedColumns } from '../../crypto/sealed-columns.ts'
import { codeChallenge } from '../../crypto/pkce.ts'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import type { Database } from '../../storage/database.ts'
import type { FlowsTable } from '../../storage/tables.ts'
import type { AppRequest } from './app-sign-ins.ts'
import type { AuthenticationDemands } from './authorization-request.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import { consumeFlow, insertFlow } from './single-use-state.ts'
import { deleteExpired } from '../../storage/delete-expired.ts'

const contextOf = sealedColumns.flowVerifier.context

/** Milliseconds from the start to the callback at most. */
export const lifetime = 10 * 60_000

/** What a flow is started for. */
export type Intent =
  | {
      purpose: 'login'
      returnTo: string
      app?: AppRequest | undefined
      demands?: AuthenticationDemands | undefined
    }
  | { purpose: 'link'; returnTo: string; userId: string; sessionId: string }

/** A flow whose state was used. */
export interface ConsumedFlow {
  row: FlowsTable
  /** The PKCE verifier; `undefined` for a provider without PKCE. */
  verifier: string | undefined
}

export interface FlowsParts {
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
}

/**
 * Sign-ins in progress: one row each, under the hash of its `state`. A row is bound to the provider and to the browser, so no other
 * browser can finish the flow.
 */
export class Flows {
  readonly #parts: FlowsParts

  constructor(parts: FlowsParts) {
    this.#parts = parts
  }

  /**
   * Starts a flow. Returns its address at the provider.
   * @param browserHash of the browser's binding cookie
   * @throws DiscoveryFailed
   */
  async start(providerClient: ProviderClient, browserHash: Uint8Array, intent: Intent): Promise<URL> {
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
    const login = intent.purpose === 'login' ? intent : undefined
    const linking = intent.purpose === 'link' ? intent : undefined
    const { app, demands } = login ?? {}
    const url = await providerClient.authorizationUrl({ redirectUri, state, challenge, nonce, demands })
    await insertFlow(database, {
      state_hash: stateHash,
      browser_hash: browserHash,
      provider: name,
      callback_url: redirectUri,
      purpose: intent.purpose,
      user_id: linking?.userId ?? null,
      session_id: linking?.sessionId ?? null,
      return_to: intent.returnTo,
      nonce: nonce ?? null,
      verifier: verifier === undefined ? null : keyring.seal(verifier, contextOf({ state_hash: stateHash })),
      client_id: app?.clientId ?? null,
      client_redirect_uri: app?.redirectUri ?? null,
      client_state: app?.state ?? null,
      client_challenge: app?.challenge ?? null,
      expires_at: now + lifetime,
      reauthentication_asked_at: demands?.reauthenticate === true ? now : null,
    })
    return url
  }

  /** Uses a state. `undefined` when it is unknown, used or expired, or was started by another browser or for another provider. */
  async consume(
    provider: string,
    browserHashes: readonly Uint8Array[],
    state: string,
  ): Promise<ConsumedFlow | undefined> {
    const { database, clock } = this.#parts
    const key = { stateHash: hashToken(state), browserHashes, provider }
    const row = await consumeFlow(database, key, clock.now())
    if (!row) return undefined
    const verifier = row.verifier === null ? undefined : this.#openVerifier(row, row.verifier)
    return verifier === null ? undefined : { row, verifier }
  }

  /** Null when its master key was removed after the start: the person has to start again. */
  #openVerifier(row: FlowsTable, verifier: Uint8Array): string | null {
    try {
      return this.#parts.keyring.open(verifier, contextOf(row)).toString()
    } catch (error) {
      if (error instanceof UnknownMasterKey) return null
      throw error
    }
  }

  sweep(now: number): Promise<void> {
    return deleteExpired(this.#parts.database, 'flows', now)
  }
}
