import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newToken } from '../crypto/tokens.ts'
import type { Configuration } from './environment.ts'

export type SecretName = 'POSTERN_SECRET' | 'WEBHOOK_SECRET' | 'ADMIN_API_KEY'

export interface CompletedConfiguration {
  configuration: Configuration
  /** The secrets that came from the file and not from the environment. */
  kept: SecretName[]
  /** Whether the file was made just now. */
  fresh: boolean
}

/**
 * In demo mode, the secrets that the environment lacks: generated at the first start and kept in a file beside the
 * database, readable by its owner only. Production gets none.
 */
export function withGeneratedSecrets(configuration: Configuration): CompletedConfiguration {
  const { production, masterSecrets, webhookSecrets, adminApiKey } = configuration
  if (production || (masterSecrets && webhookSecrets && adminApiKey))
    return { configuration, kept: [], fresh: false }
  const { values, fresh } = readOrMake(secretsFile(configuration.databaseUrl))
  const kept: SecretName[] = []
  const complete = <T>(given: T | undefined, name: SecretName, wrap: (value: string) => T): T => {
    if (given !== undefined) return given
    kept.push(name)
    return wrap(values[name])
  }
  return {
    configuration: {
      ...configuration,
      masterSecrets: complete(masterSecrets, 'POSTERN_SECRET', (value) => [value]),
      webhookSecrets: complete(webhookSecrets, 'WEBHOOK_SECRET', (value) => [value]),
      adminApiKey: complete(adminApiKey, 'ADMIN_API_KEY', (value) => value),
    },
    kept,
    fresh,
  }
}

/** Beside the SQLite file; with another database, in data/. */
export function secretsFile(databaseUrl: string): string {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(databaseUrl)?.[1]
  return join(file ? dirname(file) : 'data', 'demo-secrets.json')
}

function readOrMake(file: string): { values: Record<SecretName, string>; fresh: boolean } {
  if (existsSync(file))
    return { values: JSON.parse(readFileSync(file, 'utf8')) as Record<SecretName, string>, fresh: false }
  const values = {
    POSTERN_SECRET: newToken(),
    WEBHOOK_SECRET: newToken('demo_'),
    ADMIN_API_KEY: newToken('pk_'),
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 })
  return { values, fresh: true }
}
