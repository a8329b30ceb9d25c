import { inspectEnvironment, redacted, type Configuration } from './environment.ts'
import { secretsFile, withStoredSecrets } from './generated-secrets.ts'
import { companions, providerPrefixes } from './providers.ts'
import type { Environment } from './readers.ts'
import { settings } from './settings.ts'

/** Where the settings of a process come from. */
export interface SettingsSource {
  env: Environment
  /** Where a variable of `env` comes from, such as `environment` or `.env file`. */
  originOf: (name: string) => string
}

/** A setting in force. */
interface ShownSetting {
  name: string
  description: string
  /** Of a secret only that it is set; undefined if the setting has no value. */
  value: string | undefined
  secret: boolean
  /** Environment, .env file, --env-file, NAME_FILE, demo mode, default, or `not set`. */
  origin: string
}

interface ShownSettings {
  settings: ShownSetting[]
  /** A sentence for each setting that cannot be used. */
  faults: string[]
}

/** All settings as this process reads them, each with its origin. Secrets are replaced. */
export function shownSettings(source: SettingsSource): ShownSettings {
  const { env } = source
  const { configuration, faults } = inspectEnvironment(env)
  const { databaseUrl } = configuration
  const values = redacted(withStoredSecrets(configuration) as Configuration)
  const shown = Object.values(settings).map((setting): ShownSetting => {
    const { env: name, description } = setting
    const value = values[name] as string | undefined
    const secret = 'secret' in setting
    const demoDefault =
      configuration.production === false && ('demoDefault' in setting || !('default' in setting))
    const usual = demoDefault ? `demo mode${secret ? ` (${secretsFile(databaseUrl ?? '')})` : ''}` : 'default'
    const origin = originOf(name, source) ?? (value === undefined ? 'not set' : usual)
    return { name, description, value, secret, origin }
  })
  return { settings: [...shown, ...providerVariables(source)], faults }
}

function originOf(name: string, { env, originOf: originOfVariable }: SettingsSource): string | undefined {
  if (env[name]?.trim()) return originOfVariable(name)
  return env[`${name}_FILE`]?.trim() ? `${name}_FILE` : undefined
}

/** The variables of identity providers, as they are set. Presets' own ones may hold private keys. */
function providerVariables(source: SettingsSource): ShownSetting[] {
  const { env } = source
  const names = Object.keys(env).filter((name) => env[name]?.trim())
  const prefixes = [...providerPrefixes(names.map((name) => name.replace(/_FILE$/, '')))]
  return names.flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const prefix = prefixes.find((one) => name.startsWith(`${one}_`))
    if (prefix === undefined) return []
    const suffix = name.slice(prefix.length + 1)
    const open = name === variable && Object.hasOwn(companions, suffix) && suffix !== 'CLIENT_SECRET'
    const description = `A setting of the identity provider ${prefix.toLowerCase()}.`
    const value = open ? env[name] : '[redacted]'
    return [{ name, description, value, secret: !open, origin: originOf(name, source) ?? '' }]
  })
}
