import { inspectEnvironment, redacted, type Configuration } from '../config/environment.ts'
import { secretsFile, withKeptSecrets } from '../config/generated-secrets.ts'
import { companions, providerPrefixes } from '../config/providers.ts'
import { settings } from '../config/settings.ts'
import { fault } from './checks/finding.ts'
import { Report } from './checks/report.ts'
import { checkSettings } from './checks/settings.ts'
import { CommandFailure } from './command-failure.ts'
import { inspectConfiguration } from './configuration.ts'
import { originOfVariable } from './env-file.ts'
import { printTable } from './table.ts'

/** Checks the settings and the configuration module as the start of the service does. Exit code 1 if anything is at fault. */
export async function checkConfig(): Promise<void> {
  const report = new Report()
  const inspected = await inspectConfiguration()
  report.tell(checkSettings(inspected))
  const { databaseUrl } = inspected.configuration
  try {
    if (databaseUrl !== undefined) withKeptSecrets({ ...inspected.configuration, databaseUrl })
  } catch (error) {
    report.tell([fault('secrets', (error as Error).message)])
  }
  report.end()
}

interface ShownSetting {
  name: string
  /** Of a secret only that it is there. */
  value: unknown
  origin: string
}

/**
 * Prints each setting in force with its origin: environment, .env file, --env-file, NAME_FILE, demo mode or default.
 * @throws CommandFailure after the settings that could be read, if others could not
 */
export function printConfig(env = process.env): void {
  const { configuration, faults } = inspectEnvironment(env)
  const { databaseUrl } = configuration
  const read = databaseUrl === undefined ? configuration : withKeptSecrets({ ...configuration, databaseUrl })
  const values = redacted(read as Configuration)
  const shown = Object.values(settings).flatMap((setting): ShownSetting[] => {
    const { env: name } = setting
    if (values[name] === undefined) return []
    const demoDefault =
      configuration.production === false && ('demoDefault' in setting || !('default' in setting))
    const usual = demoDefault ? `demo mode${'secret' in setting ? ` (${kept(databaseUrl)})` : ''}` : 'default'
    return [{ name, value: values[name], origin: originOf(name, env) ?? usual }]
  })
  shown.push(...providerVariables(env))
  const rows = shown.map(({ name, value, origin }) => [name, String(value), origin])
  printTable(['name', 'value', 'origin'], rows)
  if (faults.length > 0)
    throw new CommandFailure(
      `${faults.length} ${faults.length === 1 ? 'setting' : 'settings'} cannot be used: see \`postern config check\``,
    )
}

const kept = (databaseUrl = ''): string => secretsFile(databaseUrl)

function originOf(name: string, env: NodeJS.ProcessEnv): string | undefined {
  if (env[name]?.trim()) return originOfVariable(name)
  return env[`${name}_FILE`]?.trim() ? `${name}_FILE` : undefined
}

/** The variables of identity providers, as they are set. Presets' own ones may hold private keys. */
function providerVariables(env: NodeJS.ProcessEnv): ShownSetting[] {
  const names = Object.keys(env).filter((name) => env[name]?.trim())
  const prefixes = [...providerPrefixes(names.map((name) => name.replace(/_FILE$/, '')))]
  return names.flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '')
    const prefix = prefixes.find((one) => name.startsWith(`${one}_`))
    if (prefix === undefined) return []
    const suffix = name.slice(prefix.length + 1)
    const open = name === variable && Object.hasOwn(companions, suffix) && suffix !== 'CLIENT_SECRET'
    return [{ name, value: open ? env[name] : '[redacted]', origin: originOf(name, env) ?? '' }]
  })
}
