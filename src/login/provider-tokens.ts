import { randomUUID } from 'node:crypto'
import type { IdentityKey } from '../accounts/users/roles.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { shareRun } from '../runtime/bounded-cache.ts'
import { sleep, Period } from '../runtime/clock.ts'
import { type SealContext, sealedColumns } from '../crypto/keyring.ts'
import type { Tx } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
import { describeCause } from './flow/failures.ts'
import type { IssuedTokens } from './provider-client/code-exchange.ts'
import type { ProviderClient } from './provider-client/provider-client.ts'
import type { StoredTokenScopes } from './config.ts'

/** Milliseconds before its expiry at which an access token is refreshed, so that the handler can still use it. */
const margin = 60_000
/** Milliseconds of the lease for one refresh: longer than the timeout of a request to the provider. */
const leaseTime = 20_000
/** Milliseconds between two reads of a row that another process is refreshing. */
const pollInterval = 100

/** A user, or one identity. */
type TokenOwner = { userId: string } | { providerId: string }

/** The token could not be refreshed now; a later attempt may succeed. */
class ProviderTokenUnavailable extends Error {
  constructor(provider: string, cause: unknown) {
    super(`the access token of ${provider} could not be refreshed: try again later`, { cause })
    this.name = 'ProviderTokenUnavailable'
  }
}

type TokenNeeds = Pick<ModuleParts, 'database' | 'keyring' | 'clock' | 'log'> & {
  providers: ReadonlyMap<string, ProviderClient>
  stored: StoredTokenScopes
}

/**
 * Stores the tokens of providers with `keepTokens`, sealed, and gives them to handlers that declare them. An expired
 * access token is refreshed when it is requested. A refresh token may be valid for one use only, so refreshes of one
 * identity are exclusive: within this process by a shared promise, between processes by a lease on the row.
 */
export class ProviderTokens {
  readonly #parts: TokenNeeds
  readonly #refreshing = new Map<string, Promise<string | undefined>>()

  constructor(parts: TokenNeeds) {
    this.#parts = parts
  }

  /** Whether the tokens of this provider are stored. */
  storesTokensOf(provider: string): boolean {
    return this.#parts.stored.has(provider)
  }

  /** Stores the tokens of a sign-in. Without a new refresh token the old one stays. */
  async save(tx: Tx, { provider, providerId }: IdentityKey, tokens: IssuedTokens): Promise<void> {
    const key = { provider, provider_id: providerId }
    const row = this.#seal(key, tokens)
    await tx
      .insertInto('provider_tokens')
      .values({ ...row, ...key })
      .onConflict((conflict) =>
        conflict.columns(['provider', 'provider_id']).doUpdateSet((eb) => ({
          ...row,
          refresh_token: eb.fn.coalesce('excluded.refresh_token', 'provider_tokens.refresh_token'),
        })),
      )
      .execute()
  }

  /**
   * A user's access token at a provider, valid for one minute at least when the provider sends an expiry. `undefined` when
   * none is stored or the user has withdrawn the consent; the user then has to sign in there again.
   * @throws ProviderTokenUnavailable when it had to be refreshed and the provider does not answer.
   */
  async accessToken(provider: string, owner: TokenOwner): Promise<string | undefined> {
    const row = await this.#find(provider, owner)
    if (!row) return undefined
    if (!this.#isStale(row)) return this.#open(row, 'access_token')
    const key = JSON.stringify([row.provider, row.provider_id])
    return shareRun(this.#refreshing, key, () => this.#refresh(row))
  }

  async #refresh(row: Row<'provider_tokens'>): Promise<string | undefined> {
    const { providers, database, log } = this.#parts
    const provider = providers.get(row.provider)
    if (row.refresh_token === null || !provider) return undefined
    const lease = { ...keyOf(row), claim: randomUUID() }
    if (!(await this.#lease(row, lease.claim))) return this.#awaitOtherProcess(row)
    const update = (changed: Partial<Row<'provider_tokens'>>) =>
      database.transaction((tx) =>
        tx
          .updateTable('provider_tokens')
          .set(changed)
          .where((eb) => eb.and(lease))
          .execute(),
      )
    let tokens: IssuedTokens
    try {
      tokens = await provider.refresh(this.#open(row, 'refresh_token'))
    } catch (error) {
      if (!isInvalidGrant(error)) {
        await update({ claim: null, claimed_until: null })
        throw new ProviderTokenUnavailable(row.provider, error)
      }
      const causes = describeCause(error)
      log.warn({ provider: row.provider, causes }, 'the provider rejected a stored refresh token')
      await database.transaction((tx) =>
        tx
          .deleteFrom('provider_tokens')
          .where((eb) => eb.and(lease))
          .execute(),
      )
      return undefined
    }
    const { refresh_token: newer, ...sealed } = this.#seal(row, tokens)
    // Most providers omit the refresh token when it stays the same.
    await update(newer === null ? sealed : { ...sealed, refresh_token: newer })
    return tokens.accessToken
  }

  /** Waits for the refresh of another process and gives its access token. */
  async #awaitOtherProcess(row: Row<'provider_tokens'>): Promise<string | undefined> {
    const { clock } = this.#parts
    const waiting = new Period()
    waiting.start(clock.now(), leaseTime)
    for (; waiting.has(clock.now()); await sleep(clock, pollInterval)) {
      const now = await this.#findByKey(row)
      if (!now) return undefined
      const changed = now.updated_at !== row.updated_at
      if (changed || !this.#isStale(now)) return this.#open(now, 'access_token')
      if (now.claim === null) break
    }
    throw new ProviderTokenUnavailable(row.provider, new Error('another process could not refresh it either'))
  }

  async #lease(row: Row<'provider_tokens'>, lease: string): Promise<boolean> {
    const { clock, database } = this.#parts
    const now = clock.now()
    const result = await database.transaction((tx) =>
      tx
        .updateTable('provider_tokens')
        .set({ claim: lease, claimed_until: now + leaseTime })
        .where((eb) => eb.and(keyOf(row)))
        // A refresh that ended since the row was read has used the refresh token. The sealed bytes cannot show that, since
        // `postern keys reseal` changes them too.
        .where('updated_at', '=', row.updated_at)
        .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
        .executeTakeFirst(),
    )
    return result.numUpdatedRows > 0n
  }

  /** Of several identities of a user at one provider, the last used one counts. */
  async #find(provider: string, owner: TokenOwner): Promise<Row<'provider_tokens'> | undefined> {
    if ('providerId' in owner) return this.#findByKey({ provider, provider_id: owner.providerId })
    return this.#parts.database.reader
      .selectFrom('provider_tokens')
      .innerJoin('identities', (join) =>
        join
          .onRef('identities.provider', '=', 'provider_tokens.provider')
          .onRef('identities.provider_id', '=', 'provider_tokens.provider_id'),
      )
      .selectAll('provider_tokens')
      .where('identities.user_id', '=', owner.userId)
      .where('identities.provider', '=', provider)
      .orderBy('identities.last_used_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  }

  async #findByKey(key: RowKey): Promise<Row<'provider_tokens'> | undefined> {
    return this.#parts.database.reader
      .selectFrom('provider_tokens')
      .selectAll()
      .where((eb) => eb.and(keyOf(key)))
      .executeTakeFirst()
  }

  #isStale({ expires_at: end }: Row<'provider_tokens'>): boolean {
    return end !== null && end <= this.#parts.clock.now() + margin
  }

  #seal(key: RowKey, tokens: IssuedTokens) {
    const { keyring, clock } = this.#parts
    const now = clock.now()
    const seal = (token: string, column: Column): Uint8Array => keyring.seal(token, contextOf(key, column))
    const { accessToken, refreshToken, expiresIn, scope } = tokens
    return {
      access_token: seal(accessToken, 'access_token'),
      refresh_token: refreshToken === undefined ? null : seal(refreshToken, 'refresh_token'),
      scope: scope ?? null,
      expires_at: expiresIn === undefined ? null : now + expiresIn * 1000,
      updated_at: now,
      claim: null,
      claimed_until: null,
    }
  }

  #open(row: Row<'provider_tokens'>, column: Column): string {
    return this.#parts.keyring.open(row[column]!, contextOf(row, column)).toString()
  }
}

type Column = 'access_token' | 'refresh_token'

type RowKey = Pick<Row<'provider_tokens'>, 'provider' | 'provider_id'>

const keyOf = ({ provider, provider_id }: RowKey): RowKey => ({ provider, provider_id })

function contextOf(row: RowKey, column: Column): SealContext {
  const { providerAccessToken, providerRefreshToken } = sealedColumns
  return (column === 'access_token' ? providerAccessToken : providerRefreshToken).context(row)
}

/** RFC 6749, section 5.2: the refresh token is invalid, expired or revoked. All other errors may be temporary. */
function isInvalidGrant(error: unknown): boolean {
  return (error as { error?: unknown }).error === 'invalid_grant'
}
