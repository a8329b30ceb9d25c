import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newToken } from '../crypto/tokens.ts'
import type { Configuration } from './environment.ts'

interface Kept {
  POSTERN_SECRET: string
  WEBHOOK_SECRET: string
  ADMIN_API_KEY: string
}

/**
 * In demo mode, the secrets that the environment lacks: generated at the first start and kept in a file beside the
 * database, readable by its owner only. Production gets none. `generated` holds the names that were made just now.
 */
export function withGeneratedSecrets(configuration: Configuration): { configuration: Configuration; generated: string[] } {
  const { production, masterSecrets, webhookSecrets, adminApiKey } = configuration
  if (production || (masterSecrets && webhookSecrets && adminApiKey)) return { configuration, generated: [] }
  const { kept, fresh } = readOrMake(secretsFile(configuration.databaseUrl))
  return {
    configuration: {
      ...configuration,
      masterSecrets: masterSecrets ?? [kept.POSTERN_SECRET],
      webhookSecrets: webhookSecrets ?? [kept.WEBHOOK_SECRET],
      adminApiKey: adminApiKey ?? kept.ADMIN_API_KEY,
    },
    generated: fresh ? Object.keys(kept) : [],
  }
}

/** Beside the SQLite file; with another database, in data/. */
export function secretsFile(databaseUrl: string): string {
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(databaseUrl)?.[1]
  return join(file ? dirname(file) : 'data', 'demo-secrets.json')
}

function readOrMake(file: string): { kept: Kept; fresh: boolean } {
  if (existsSync(file)) return { kept: JSON.parse(readFileSync(file, 'utf8')) as Kept, fresh: false }
  const kept: Kept = { POSTERN_SECRET: newToken(), WEBHOOK_SECRET: newToken('demo_'), ADMIN_API_KEY: newToken('pk_') }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
  return { kept, fresh: true }
}
