import { randomUUID } from 'node:crypto'
import type { IdentityKey } from '../accounts/roles.ts'
import { sleep, type Clock } from '../runtime/clock.ts'
import type { Keyring, SealContext } from '../crypto/keyring.ts'
import { sealedColumns } from '../crypto/sealed-columns.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { ProviderTokensTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import { describeCause } from './failures.ts'
import type { IssuedTokens, Vouched } from './issued-tokens.ts'
import type { ProviderClient } from './provider-client.ts'
import type { KeptProviders } from './token-keeping.ts'

/** Milliseconds before its end from which an access token is refreshed: it is still to be used. */
const margin = 60_000
/** Milliseconds that one refresh may take before another process tries: longer than the provider's time-out. */
const claimTime = 20_000
/** Milliseconds between two looks at what another process is refreshing. */
const pause = 100

/** Whose token: a user's, or that of one identity. */
export type TokenOwner = { userId: string } | { providerId: string }

/** The provider did not answer, so there is no token now; a later try may have one. */
export class ProviderTokenUnavailable extends Error {
  constructor(provider: string, cause: unknown) {
    super(`the access token of ${provider} could not be refreshed: try again later`, { cause })
    this.name = 'ProviderTokenUnavailable'
  }
}

/**
 * The tokens of providers whose configuration asks to keep them: sealed in the database, given to handlers that declare
 * the need, refreshed when they are asked for. A refresh token may be good for one use only, so one refresh is under way
 * at a time: in this process by a shared promise, among processes by a lease on the row.
 */
export class ProviderTokens {
  readonly #database: Database
  readonly #keyring: Keyring
  readonly #clock: Clock
  readonly #log: Log
  readonly #clients: ReadonlyMap<string, ProviderClient>
  readonly #kept: KeptProviders
  readonly #refreshing = new Map<string, Promise<string | undefined>>()

  constructor(parts: {
    database: Database
    keyring: Keyring
    clock: Clock
    log: Log
    clients: ReadonlyMap<string, ProviderClient>
    kept: KeptProviders
  }) {
    this.#database = parts.database
    this.#keyring = parts.keyring
    this.#clock = parts.clock
    this.#log = parts.log
    this.#clients = parts.clients
    this.#kept = parts.kept
  }

  keeps(provider: string): boolean {
    return this.#kept.has(provider)
  }

  /** Keeps what a sign-in brought, if it is to be kept. A refresh token that does not come leaves the one that is there. */
  async keep(tx: Tx, { identity, tokens }: Vouched): Promise<void> {
    if (!this.#kept.has(identity.provider)) return
    const row = this.#seal(identity, tokens)
    await tx
      .insertInto('provider_tokens')
      .values({ ...row, provider: identity.provider, provider_id: identity.providerId })
      .onConflict((conflict) =>
        conflict.columns(['provider', 'provider_id']).doUpdateSet((eb) => ({
          ...row,
          refresh_token: eb.fn.coalesce('excluded.refresh_token', 'provider_tokens.refresh_token'),
        })),
      )
      .execute()
  }

  /**
   * A user's access token at a provider, good for a minute at least where the provider tells how long it is good.
   * `undefined` when none is kept, or the user has withdrawn the consent: they are to sign in there again.
   * @throws ProviderTokenUnavailable when it had to be refreshed and the provider does not answer.
   */
  async accessToken(provider: string, owner: TokenOwner): Promise<string | undefined> {
    const row = await this.#find(provider, owner)
    if (!row) return undefined
    if (!this.#isStale(row)) return this.#open(row, 'access_token')
    const key = JSON.stringify([row.provider, row.provider_id])
    const running = this.#refreshing.get(key)
    if (running) return running
    const refreshed = this.#refresh(row).finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshed)
    return refreshed
  }

  async #refresh(row: ProviderTokensTable): Promise<string | undefined> {
    const client = this.#clients.get(row.provider)
    if (row.refresh_token === null || !client) return undefined
    const claim = randomUUID()
    if (!(await this.#claim(row, claim))) return this.#awaitOther(row)
    let tokens: IssuedTokens
    try {
      tokens = await client.refresh(this.#open(row, 'refresh_token'))
    } catch (error) {
      if (!isWithdrawn(error)) {
        await this.#database.transaction((tx) => update(tx, row, claim, { claim: null, claimed_until: null }))
        throw new ProviderTokenUnavailable(row.provider, error)
      }
      const { provider } = row
      this.#log.warn({ provider, causes: describeCause(error) }, 'a kept refresh token is no longer good')
      await this.#database.transaction((tx) =>
        tx
          .deleteFrom('provider_tokens')
          .where('provider', '=', row.provider)
          .where('provider_id', '=', row.provider_id)
          .where('claim', '=', claim)
          .execute(),
      )
      return undefined
    }
    const { refresh_token: newer, ...sealed } = this.#seal(keyOf(row), tokens)
    // Most providers leave the refresh token out when it stays as it is.
    const changed = newer === null ? sealed : { ...sealed, refresh_token: newer }
    await this.#database.transaction((tx) => update(tx, row, claim, changed))
    return tokens.accessToken
  }

  /** Another process is at it: what it gets is good here too. */
  async #awaitOther(row: ProviderTokensTable): Promise<string | undefined> {
    for (
      const end = this.#clock.now() + claimTime;
      this.#clock.now() < end;
      await sleep(this.#clock, pause)
    ) {
      const now = await this.#read(keyOf(row))
      if (!now) return undefined
      const changed = now.updated_at !== row.updated_at
      if (changed || !this.#isStale(now)) return this.#open(now, 'access_token')
      if (now.claim === null) break
    }
    throw new ProviderTokenUnavailable(row.provider, new Error('another process could not refresh it either'))
  }

  async #claim(row: ProviderTokensTable, claim: string): Promise<boolean> {
    const now = this.#clock.now()
    const result = await this.#database.transaction((tx) =>
      tx
        .updateTable('provider_tokens')
        .set({ claim, claimed_until: now + claimTime })
        .where('provider', '=', row.provider)
        .where('provider_id', '=', row.provider_id)
        // What was read must still be there: a refresh that ended meanwhile has used the refresh token up. The sealed bytes
        // do not tell, since `postern keys reseal` changes them.
        .where('updated_at', '=', row.updated_at)
        .where((eb) => eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]))
        .executeTakeFirst(),
    )
    return result.numUpdatedRows > 0n
  }

  /** The identity that was used last, when a user has several at one provider. */
  async #find(provider: string, owner: TokenOwner): Promise<ProviderTokensTable | undefined> {
    if ('providerId' in owner) return this.#read({ provider, providerId: owner.providerId })
    return this.#database.reader
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

  async #read({ provider, providerId }: IdentityKey): Promise<ProviderTokensTable | undefined> {
    return this.#database.reader
      .selectFrom('provider_tokens')
      .selectAll()
      .where('provider', '=', provider)
      .where('provider_id', '=', providerId)
      .executeTakeFirst()
  }

  #isStale({ expires_at: end }: ProviderTokensTable): boolean {
    return end !== null && end <= this.#clock.now() + margin
  }

  #seal(key: IdentityKey, tokens: IssuedTokens) {
    const now = this.#clock.now()
    const seal = (token: string, column: Column): Uint8Array =>
      this.#keyring.seal(token, contextOf({ provider: key.provider, provider_id: key.providerId }, column))
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

  #open(row: ProviderTokensTable, column: Column): string {
    return this.#keyring.open(row[column]!, contextOf(row, column)).toString()
  }
}

type Column = 'access_token' | 'refresh_token'

const keyOf = (row: ProviderTokensTable): IdentityKey => ({
  provider: row.provider,
  providerId: row.provider_id,
})

function contextOf(row: Pick<ProviderTokensTable, 'provider' | 'provider_id'>, column: Column): SealContext {
  const { providerAccessToken, providerRefreshToken } = sealedColumns
  return (column === 'access_token' ? providerAccessToken : providerRefreshToken).context(row)
}

async function update(
  tx: Tx,
  row: ProviderTokensTable,
  claim: string,
  changed: Partial<ProviderTokensTable>,
): Promise<void> {
  await tx
    .updateTable('provider_tokens')
    .set(changed)
    .where('provider', '=', row.provider)
    .where('provider_id', '=', row.provider_id)
    .where('claim', '=', claim)
    .execute()
}

/** RFC 6749, section 5.2: the refresh token is invalid, expired or revoked. Everything else may pass. */
function isWithdrawn(error: unknown): boolean {
  return (error as { error?: unknown }).error === 'invalid_grant'
}
