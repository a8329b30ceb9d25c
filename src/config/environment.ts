import { basePathOf } from '../http/requests/base-path.ts'
import { isLoopbackHost } from '../network/egress.ts'
import { describeAddress } from '../storage/postgres/servers/address.ts'
import { providerPrefixes, type ProviderSettings, readProviders } from './providers.ts'
import type { Environment } from './readers.ts'
import { weakSettings } from './secret-strength.ts'
import { settings, type Settings } from './settings.ts'
import { statSync } from 'node:fs'
import { readTextFile } from '../runtime/text-file.ts'

export interface Configuration extends Settings {
  providers: readonly ProviderSettings[]
  /** Demo mode: neither production nor a public BASE_URL. Lists are open, and there is a built-in identity provider. */
  demo: boolean
  /** The path of BASE_URL; empty for an origin. */
  basePath: string
  /** The texts of the settings that are not secret, by their names in the environment. */
  written: Readonly<Record<string, string>>
}

/** All faults of the configuration. */
export class ConfigurationError extends Error {
  declare readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(`the configuration is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigurationError'
    // Node.js prints the fields of an error that nobody catches: the message names each fault already.
    Object.defineProperty(this, 'faults', { value: faults, enumerable: false })
  }
}

/**
 * Reads all settings from the environment and from the files that it names. An empty value counts as absent.
 * @throws ConfigurationError that names every missing and every invalid setting.
 */
export function readEnvironment(env: Environment): Configuration {
  const { configuration, faults } = inspectEnvironment(env)
  if (faults.length > 0) throw new ConfigurationError(faults)
  return configuration as Configuration
}

const settingNames: ReadonlySet<string> = new Set(Object.values(settings).map(({ env }) => env))

/** The settings that could be read, and a sentence for each fault. */
export interface Inspection {
  configuration: Partial<Settings> & Pick<Configuration, 'providers' | 'demo' | 'basePath' | 'written'>
  faults: string[]
  /** A sentence for each variable whose name is probably that of a setting, with a letter wrong. */
  misspelled: string[]
}

/** Like readEnvironment, but returns the faults instead of throwing them. */
export function inspectEnvironment(given: Environment): Inspection {
  const faults: string[] = []
  const { env, unread } = readSettingFiles(given, settingNames, faults)
  const values: Record<string, unknown> = {}
  const written: Record<string, string> = {}
  const production = env[settings.production.env]?.trim() === 'production'
  for (const [key, setting] of Object.entries(settings)) {
    const text = env[setting.env]?.trim()
    const fallback =
      (production ? undefined : 'demoDefault' in setting ? setting.demoDefault : undefined) ??
      ('default' in setting ? setting.default : undefined)
    const value = text || fallback
    if (value === undefined) {
      if (production && 'requiredInProduction' in setting && !unread.has(setting.env))
        faults.push(`${setting.env} is missing. ${setting.description}`)
      continue
    }
    try {
      values[key] = setting.read(value)
      if (!('secret' in setting)) written[setting.env] = value
    } catch (error) {
      faults.push(`${setting.env} is wrong: ${(error as Error).message}`)
    }
  }
  const read: Partial<Settings> = values
  const { baseUrl } = read
  const demo =
    read.production === false && (baseUrl === undefined || isLoopbackHost(new URL(baseUrl).hostname))
  const basePath = baseUrl === undefined ? '' : basePathOf(baseUrl)
  const configuration = { ...read, providers: readProviders(env, faults), demo, basePath, written }
  if (production) checkProduction(configuration, faults)
  if (configuration.databaseSessionUrl !== undefined && configuration.databaseUrl?.startsWith('sqlite:'))
    faults.push('DATABASE_SESSION_URL needs a DATABASE_URL of PostgreSQL: SQLite has no sessions')
  if (configuration.auditExportUrl?.startsWith('http') && !configuration.auditExportSecrets)
    faults.push('AUDIT_EXPORT_SECRET is missing: the webhook of AUDIT_EXPORT_URL is signed with it')
  if ((configuration.smtpUrl === undefined) !== (configuration.mailFrom === undefined))
    faults.push('SMTP_URL and MAIL_FROM belong together: set both, or none')
  if (configuration.databaseReplicaUrl && configuration.databaseUrl?.startsWith('sqlite:'))
    faults.push('DATABASE_REPLICA_URL needs a DATABASE_URL of PostgreSQL: SQLite has no standbys')
  if (configuration.production === false) checkHost(configuration, faults)
  return { configuration, faults, misspelled: misspelledSettings(given, settingNames) }
}

/** Adds a fault for each setting that is only safe outside production. */
function checkProduction(configuration: Partial<Settings>, faults: string[]): void {
  const { baseUrl } = configuration
  if (baseUrl?.startsWith('http:') && !isLoopbackHost(new URL(baseUrl).hostname))
    faults.push(
      'BASE_URL is wrong: expected https in production, since cookies are not Secure over http. Put a proxy with TLS in front, and set BASE_URL to its address; http is accepted for a loopback address only',
    )
  for (const { text, refused } of weakSettings(configuration)) if (refused) faults.push(text)
}

/** Adds a fault if the service would listen on a public address outside production. */
function checkHost({ host }: Partial<Settings>, faults: string[]): void {
  if (host !== undefined && !isLoopbackHost(host))
    faults.push(
      'HOST must be a loopback address in demo mode, since its lists are open and its secrets generated; set NODE_ENV=production to listen elsewhere',
    )
}

/** The settings for the log. Secrets are replaced by `[redacted]`. */
export function redacted(configuration: Configuration): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [key, setting] of Object.entries(settings)) {
    const value = configuration[key as keyof Settings]
    if (value === undefined) continue
    shown[setting.env] =
      'secret' in setting ? describeSecret(setting.env, value) : configuration.written[setting.env]
  }
  shown['PROVIDERS'] = configuration.providers.map(({ name }) => name)
  return shown
}

function describeSecret(env: string, value: unknown): string {
  const addresses = [settings.databaseUrl, settings.databaseSessionUrl, settings.databaseReplicaUrl]
  if (addresses.some((setting) => setting.env === env)) return redactedDatabaseUrl(String(value))
  return Array.isArray(value) && value.length > 1 ? `[${value.length} redacted]` : '[redacted]'
}

/** The address of the database without user, password and most parameters. */
export function redactedDatabaseUrl(url: string): string {
  return url.startsWith('sqlite:') ? url.split('?', 1)[0]! : describeAddress(url)
}

/** Shorter names are too often those of other programs. */
const shortest = 7

/**
 * Variables that have no effect, because their names differ from that of a setting by a letter, as sentences. Names of other programs are in
 * the same environment, so this is a warning and no fault.
 * @param names the settings
 */
function misspelledSettings(env: Environment, names: ReadonlySet<string>): string[] {
  const given = Object.keys(env).filter((name) => env[name]?.trim())
  const prefixes = [...providerPrefixes(given)]
  return given.flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const isKnown = names.has(name) || names.has(variable)
    if (isKnown || name.length < shortest || prefixes.some((prefix) => name.startsWith(`${prefix}_`)))
      return []
    const meant = [...names].find((one) => one.length >= shortest && isNear(name, one))
    return meant === undefined ? [] : [`${variable} is not a setting and has no effect: is ${meant} meant?`]
  })
}

/** Whether two names differ by one letter that was added, left out or replaced, or by two neighbours that were exchanged. */
function isNear(name: string, other: string): boolean {
  let begin = 0
  while (begin < name.length && name[begin] === other[begin]) begin += 1
  let [end, otherEnd] = [name.length, other.length]
  while (end > begin && otherEnd > begin && name[end - 1] === other[otherEnd - 1]) {
    end -= 1
    otherEnd -= 1
  }
  const [left, right] = [name.slice(begin, end), other.slice(begin, otherEnd)]
  return Math.max(left.length, right.length) <= 1 || (left.length === 2 && left === right[1]! + right[0]!)
}

/** The largest file of a setting, in bytes. */
const mostBytes = 64 * 1024
const ending = '_FILE'

interface EnvironmentWithFiles {
  env: Environment
  /** The settings whose files could not be read. */
  unread: ReadonlySet<string>
}

/**
 * Adds the settings that files contain: `NAME_FILE` is the path of a file with the value of NAME, as container platforms mount
 * secrets. Removes one newline at the end of the file. Appends faults to `faults`.
 * @param names the settings; variables of identity providers are found by their prefix
 */
function readSettingFiles(
  given: Environment,
  names: ReadonlySet<string>,
  faults: string[],
): EnvironmentWithFiles {
  const named = Object.keys(given)
    .filter((key) => key.endsWith(ending) && given[key]?.trim())
    .map((key) => key.slice(0, -ending.length))
  const unread = new Set<string>()
  if (named.length === 0) return { env: given, unread }
  const env = { ...given }
  const prefixes = [...providerPrefixes([...Object.keys(given), ...named])]
  for (const name of named) {
    if (!names.has(name) && !prefixes.some((prefix) => name.startsWith(`${prefix}_`))) continue
    const variable = name + ending
    const path = given[variable]!.trim()
    delete env[variable]
    const fault = given[name]?.trim()
      ? `${name} and ${variable} are both set: remove one of them`
      : faultOfFile(path, (text) => (env[name] = text))
    if (fault === undefined) continue
    unread.add(name)
    faults.push(fault.startsWith(name) ? fault : `${variable} names ${path}, ${fault}`)
  }
  return { env, unread }
}

/** Passes the text of the file to `take`. Returns why the file cannot be used, or `undefined`. */
function faultOfFile(path: string, take: (text: string) => void): string | undefined {
  try {
    const file = statSync(path)
    // Reading a pipe could block the start for ever.
    if (!file.isFile()) return 'which is not a file'
    if (file.size > mostBytes) return `which is larger than ${mostBytes / 1024} KiB`
    take(readTextFile(path).replace(/\r?\n$/, ''))
    return undefined
  } catch (error) {
    return `which cannot be read: ${(error as Error).message}`
  }
}
