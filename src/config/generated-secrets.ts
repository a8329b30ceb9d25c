import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { newToken } from '../crypto/secrets.ts'
import { sqliteFileOf } from '../storage/sqlite/files.ts'
import { ConfigurationError, type Configuration } from './environment.ts'

const secretNames = ['POSTERN_SECRET', 'WEBHOOK_SECRET', 'ADMIN_API_KEY'] as const
export type SecretName = (typeof secretNames)[number]
type Secrets = Readonly<Record<SecretName, string>>

/** The settings that may hold secrets, and those that locate the file of generated ones. */
type Secretive = Pick<Configuration, 'masterSecrets' | 'webhookSecrets' | 'adminApiKey'> & {
  production?: boolean | undefined
  databaseUrl?: string | undefined
}

export interface CompletedConfiguration {
  configuration: Configuration
  /** The secrets that were read from the file, not from the environment. */
  stored: SecretName[]
  /** Whether the file was created by this call. */
  fresh: boolean
}

/**
 * Adds the secrets that the environment lacks, in demo mode only. The first start generates them and stores them in a file
 * beside the database, which only its owner can read.
 * @throws ConfigurationError if the file exists and is invalid.
 */
export function withGeneratedSecrets(configuration: Configuration): CompletedConfiguration {
  if (!lacksSecrets(configuration)) return { configuration, stored: [], fresh: false }
  const file = secretsFile(configuration.databaseUrl)
  const found = readSecrets(file)
  return { ...complete(configuration, found ?? makeSecrets(file)), fresh: found === undefined }
}

/** Like withGeneratedSecrets, but generates none: secrets that the file lacks stay missing, and all without a database. */
export function withStoredSecrets<C extends Secretive>(configuration: C): C {
  const { databaseUrl } = configuration
  const isStored = databaseUrl !== undefined && lacksSecrets(configuration)
  const found = isStored ? readSecrets(secretsFile(databaseUrl)) : undefined
  return found ? complete(configuration, found).configuration : configuration
}

function lacksSecrets({ production, masterSecrets, webhookSecrets, adminApiKey }: Secretive): boolean {
  return !production && !(masterSecrets && webhookSecrets && adminApiKey)
}

function complete<C extends Secretive>(
  configuration: C,
  secrets: Secrets,
): { configuration: C; stored: SecretName[] } {
  const stored: SecretName[] = []
  const take = <T>(given: T | undefined, name: SecretName, wrap: (value: string) => T): T => {
    if (given !== undefined) return given
    stored.push(name)
    return wrap(secrets[name])
  }
  const { masterSecrets, webhookSecrets, adminApiKey } = configuration
  return {
    configuration: {
      ...configuration,
      masterSecrets: take(masterSecrets, 'POSTERN_SECRET', (value) => [value]),
      webhookSecrets: take(webhookSecrets, 'WEBHOOK_SECRET', (value) => [value]),
      adminApiKey: take(adminApiKey, 'ADMIN_API_KEY', (value) => value),
    },
    stored,
  }
}

/** The file is beside the SQLite database, or in data/ with PostgreSQL. */
export function secretsFile(databaseUrl: string): string {
  const file = sqliteFileOf(databaseUrl)
  return join(file ? dirname(file) : 'data', 'demo-secrets.json')
}

function readSecrets(file: string): Secrets | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const secrets = parse(text)
  if (secrets) return secrets
  throw new ConfigurationError([
    `${file} must hold the generated secrets of demo mode, and is invalid: correct it, or remove it together with the database, which needs them`,
  ])
}

function parse(text: string): Secrets | undefined {
  let found: Partial<Record<string, unknown>> | null
  try {
    found = JSON.parse(text) as typeof found
  } catch {
    // Only the service writes this file, so the position of the error would not help the reader.
    return undefined
  }
  return secretNames.every((name) => typeof found?.[name] === 'string') ? (found as Secrets) : undefined
}

function makeSecrets(file: string): Secrets {
  const values = {
    POSTERN_SECRET: newToken(),
    WEBHOOK_SECRET: newToken('demo_'),
    ADMIN_API_KEY: newToken('pk_'),
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 })
  return values
}
