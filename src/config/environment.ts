import { readProviders, type ProviderSettings } from './providers.ts'
import { settings, type Settings } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Configuration extends Settings {
  providers: readonly ProviderSettings[]
}

/** Everything that is wrong with the configuration, at once. */
export class ConfigurationError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(`the configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigurationError'
    this.faults = faults
  }
}

/**
 * Reads all settings from the environment; an empty value counts as absent.
 * @throws ConfigurationError that names every missing and every wrong setting.
 */
export function readEnvironment(env: Environment): Configuration {
  const faults: string[] = []
  const values: Record<string, unknown> = {}
  const production = env['NODE_ENV'] === 'production'
  for (const [key, setting] of Object.entries(settings)) {
    const given = env[setting.env]?.trim()
    const fallback =
      (production ? undefined : 'demoDefault' in setting ? setting.demoDefault : undefined) ??
      ('default' in setting ? setting.default : undefined)
    const value = given || fallback
    if (value === undefined) {
      if (production && 'requiredInProduction' in setting)
        faults.push(`${setting.env} is missing. ${setting.description}`)
      continue
    }
    try {
      values[key] = setting.read(value)
    } catch (error) {
      faults.push(`${setting.env} is wrong: ${(error as Error).message}. ${setting.description}`)
    }
  }
  const providers = readProviders(env, faults)
  const configuration = { ...(values as unknown as Settings), providers } satisfies Configuration
  if (faults.length === 0) checkTogether(configuration, faults)
  if (faults.length > 0) throw new ConfigurationError(faults)
  return configuration
}

const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/** Rules that tie settings to each other. */
function checkTogether(configuration: Configuration, faults: string[]): void {
  const { production, host } = configuration
  if (!production && !loopback.test(host)) {
    faults.push(
      'HOST must be a loopback address in demo mode, since its lists are open and its secrets generated; set NODE_ENV=production to listen elsewhere',
    )
  }
}

/** The settings as they may be logged: secrets are told to be there and no more. */
export function redacted(configuration: Configuration): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(settings)) {
    const value = configuration[key as keyof Settings]
    if (value === undefined) continue
    shown[setting.env] = 'secret' in setting ? describeSecret(setting.env, value) : value
  }
  shown['PROVIDERS'] = configuration.providers.map(({ name }) => name)
  return shown
}

function describeSecret(env: string, value: unknown): string {
  if (env === 'DATABASE_URL')
    return String(value)
      .replace(/\/\/[^@/]*@/, '//[redacted]@')
      .replace(/\?.*$/, '')
  return Array.isArray(value) && value.length > 1 ? `[${value.length} redacted]` : '[redacted]'
}
