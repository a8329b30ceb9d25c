import { resolve } from 'node:path'
import { validateAccountEvents } from '../accounts/users/account-events.ts'
import {
  ConfigurationError,
  inspectEnvironment,
  readEnvironment,
  type Inspection,
} from '../config/environment.ts'
import {
  secretsFile,
  withGeneratedSecrets,
  type CompletedConfiguration,
} from '../config/generated-secrets.ts'
import { loadConfigModule, migrationsFolder } from '../config/module.ts'
import { weakSettings } from '../config/secret-strength.ts'
import type { Environment } from '../config/readers.ts'
import type { PosternConfig } from '../define-config.ts'
import { validateForwardAuth } from '../forward-auth/config.ts'
import { readDestinations } from '../emitting/subscribers/destinations.ts'
import { readLists } from '../listing/declaration.ts'
import type { ResolvedProvider } from '../login/providers/resolved-provider.ts'
import { validateOAuth2 } from '../oauth2/clients/client-faults.ts'
import { resolveLoginConfig, providersWithStoredTokens } from '../login/config.ts'
import { readHandlers } from '../receiving/handlers/declared-handlers.ts'
import { readSources, weakSources } from '../receiving/sources.ts'
import { checkSpoolChoice } from '../receiving/spool/file-spool.ts'

interface CommandConfiguration extends CompletedConfiguration {
  config: PosternConfig | undefined
  /** Where demo mode stores them. */
  secretsFile: string
  /** Where the migrations of the product's own tables are, if there are any. */
  migrationsFolder: string
  /** See Inspection. */
  misspelled: readonly string[]
}

/**
 * What the service works with: the environment, completed by generated secrets in demo mode, and the module.
 * @param given the configuration, instead of the module's
 * @throws ConfigurationError that names everything that is missing or wrong in both.
 */
export async function readConfiguration(
  env: Environment = process.env,
  given?: PosternConfig,
): Promise<CommandConfiguration> {
  const { config, faults, misspelled } = await inspectConfiguration(env, given)
  if (faults.length > 0) throw new ConfigurationError([...faults, ...misspelled])
  const completed = withGeneratedSecrets(readEnvironment(env))
  return {
    ...completed,
    secretsFile: resolve(secretsFile(completed.configuration.databaseUrl)),
    migrationsFolder: migrationsFolder(completed.configuration.configFile),
    config,
    misspelled,
  }
}

export interface InspectedConfiguration extends Inspection {
  config: PosternConfig | undefined
  /** Those that can be used, without the built-in one. */
  providers: ResolvedProvider[]
}

/** As much of all configuration as could be read, and everything that is wrong with it. Nothing is generated. */
export async function inspectConfiguration(
  env: Environment = process.env,
  given?: PosternConfig,
): Promise<InspectedConfiguration> {
  const { configuration, faults, misspelled } = inspectEnvironment(env)
  let config = given
  let note = ''
  try {
    config ??= await loadConfigModule<PosternConfig>(configuration.configFile)
  } catch (error) {
    faults.push(...faultsIn(error))
    note = ', unless the configuration module says it'
  }
  const login = config?.login ?? {}
  const builtIn = configuration.demo ? 'demo' : undefined
  const { providers, faults: faultsOfLogin } = resolveLoginConfig(login, configuration.providers, builtIn)
  faults.push(...faultsOfLogin.map((fault) => fault + note), ...validateAccountEvents(login.events ?? false))
  faults.push(...validateOAuth2(login))
  faults.push(...validateForwardAuth(config?.forwardAuth ?? {}, configuration.trustedProxies ?? []))
  faults.push(...faultsOfRooms(config, configuration))
  return { configuration, config, providers, faults, misspelled }
}

/** What is weak about the secrets of the settings and of the module, as sentences: what the start and `postern doctor` warn of. */
export function weakSecrets(
  { production = false, ...settings }: Inspection['configuration'],
  config: PosternConfig | undefined,
): string[] {
  const found = weakSettings(settings).filter(({ refused }) => !(production && refused))
  return [...found.map(({ text }) => text), ...weakSources(config?.receiving?.sources, production)]
}

function faultsOfRooms(
  { login = {}, receiving = {}, listing, emitting }: PosternConfig = {},
  // That the secret of the environment is missing, or generated in a moment, is another matter.
  {
    webhookSecrets = ['another matter'],
    handlerTimeout = 0,
    production = false,
    spool,
  }: Inspection['configuration'],
): string[] {
  const withTokens = providersWithStoredTokens(login)
  const tokens = {
    storesTokensOf: (name: string) => withTokens.has(name),
    accessToken: async () => undefined,
  }
  const checks = [
    () => readSources(receiving.sources, { webhookSecrets, production }),
    () => readHandlers(receiving.handlers, handlerTimeout, tokens, receiving.eventTypes),
    () => checkSpoolChoice({ settings: spool, custom: receiving.spool }),
    () => readLists(listing),
    () => readDestinations(emitting?.destinations),
  ]
  return checks.flatMap((check) => {
    try {
      check()
      return []
    } catch (error) {
      return faultsIn(error)
    }
  })
}

function faultsIn(error: unknown): readonly string[] {
  if (error instanceof ConfigurationError) return error.faults
  throw error
}
