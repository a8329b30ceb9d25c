import type { Migration } from '../migrate.ts'

/** What there may be many of. Signing keys and begun sign-ins are few. */
const columns = [
  ['subscriber_secrets', 'secret'],
  ['subscribers', 'headers'],
  ['provider_tokens', 'access_token'],
  ['provider_tokens', 'refresh_token'],
] as const

const createIndexes = columns
  .map(
    ([table, column]) => `create index ${table}_${column}_master_key on ${table} (substr(${column}, 2, 4));`,
  )
  .join('\n')

/** Sealed values by the master key that made them: a start finds those that it cannot open by a seek per key. */
export const masterKeyIds: Migration = {
  number: 20,
  name: 'master-key-ids',
  breaking: false,
  sqlite: createIndexes,
  postgres: createIndexes,
}
