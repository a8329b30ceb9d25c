import type { Tables } from '../storage/tables.ts'
import type { SealContext } from './keyring.ts'

/** A column of values that `Keyring.seal` encrypted. */
export interface SealedColumn {
  readonly table: keyof Tables
  readonly column: string
  /** The columns of the primary key. */
  readonly key: readonly string[]
  /** The rows expire within minutes, so a value that cannot be opened does not prevent a start. */
  readonly shortLived?: true
  /** The context that binds a value to its row, derived from the primary key. */
  context(row: never): SealContext
}

function sealed<T extends keyof Tables, K extends keyof Tables[T] & string>(definition: {
  table: T
  column: keyof Tables[T] & string
  key: readonly K[]
  shortLived?: true
  context: (row: Readonly<Pick<Tables[T], K>>) => string
}) {
  return { ...definition, context: definition.context as (row: Readonly<Pick<Tables[T], K>>) => SealContext }
}

const providerToken = (column: 'access_token' | 'refresh_token') =>
  sealed({
    table: 'provider_tokens',
    column,
    key: ['provider', 'provider_id'],
    context: (row) => `provider_tokens:${JSON.stringify([row.provider, row.provider_id])}:${column}`,
  })

/**
 * All columns with sealed values. Sealing and opening take their contexts from here, so that `postern keys reseal`, the
 * check at the start and `postern doctor` cover all of them. Never change the contexts of released versions: stored values
 * are bound to them.
 */
export const sealedColumns = {
  subscriberSecret: sealed({
    table: 'subscriber_secrets',
    column: 'secret',
    key: ['id'],
    context: ({ id }) => `subscriber_secrets:${id}`,
  }),
  subscriberHeaders: sealed({
    table: 'subscribers',
    column: 'headers',
    key: ['id'],
    context: ({ id }) => `subscribers.headers:${id}`,
  }),
  alertTarget: sealed({
    table: 'alert_destinations',
    column: 'target',
    key: ['id'],
    context: ({ id }) => `alert_destinations:${id}`,
  }),
  signingKey: sealed({
    table: 'signing_keys',
    column: 'private_jwk',
    key: ['kid'],
    context: ({ kid }) => `signing_keys:${kid}`,
  }),
  providerAccessToken: providerToken('access_token'),
  providerRefreshToken: providerToken('refresh_token'),
  flowVerifier: sealed({
    table: 'flows',
    column: 'verifier',
    key: ['state_hash'],
    shortLived: true,
    context: ({ state_hash: hash }) => `flows:${Buffer.from(hash).toString('hex')}`,
  }),
} as const

export const allSealedColumns: readonly SealedColumn[] = Object.values(sealedColumns)
