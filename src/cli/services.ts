import { createRecordAudit } from '../accounts/audit/audit.ts'
import { ApiKeys } from '../accounts/tokens/api-keys.ts'
import { SigningKeys } from '../accounts/tokens/signing-keys.ts'
import { createUserServices } from '../accounts/services.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import { loadConfigModule } from '../config/module.ts'
import type { PosternConfig } from '../define-config.ts'
import { Problem } from '../errors.ts'
import { programScopes } from '../forward-auth/hosts.ts'
import { adminGroupsOf, resolveLoginConfig } from '../login/config.ts'
import { clientOf } from '../oauth2/clients/client.ts'
import { ClientManagement } from '../oauth2/clients/client-management.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { createLog } from '../telemetry/log.ts'
import { CommandFailure } from './command-failure.ts'
import { withDatabase } from './database.ts'
import { readKeyring, readSettings } from './settings.ts'

export type CommandServices = ReturnType<typeof createServices>

/**
 * Runs `work` on the database. The configuration module is loaded only if `work` asks for something that depends on it.
 * @throws CommandFailure for a problem that a request to the service would be answered with; ConfigurationError
 */
export async function withServices<T>(work: (services: CommandServices) => Promise<T>): Promise<T> {
  const configuration = readSettings()
  return withDatabase(configuration, (database) => work(createServices(configuration, database))).catch(
    (error: unknown) => {
      throw error instanceof Problem ? new CommandFailure(error.message) : error
    },
  )
}

/** What the commands about accounts, keys and apps work with, built as the service builds it. */
function createServices(configuration: Configuration, database: Database) {
  const record = createRecordAudit(clock)
  return {
    database,
    record,
    keys: new ApiKeys(database, clock, record),
    /** The scopes of applications in the configuration module, which keys may have. */
    applicationScopes: async () => {
      const config = await loadConfigModule<PosternConfig>(configuration.configFile)
      return [...programScopes(config?.forwardAuth ?? {}).keys()]
    },
    /** @throws CommandFailure without a master secret */
    signingKeys: () =>
      new SigningKeys({
        keyring: readKeyring(configuration),
        rotation: configuration.signingKeyRotation,
        database,
        clock,
        record,
      }),
    /** With the admin groups of the configuration module. */
    accounts: async () => {
      const adminGroups = adminGroupsOf(await readLogin(configuration), configuration.providers)
      const log = createLog('warn')
      // The command line can make another admin.
      return createUserServices({
        configuration,
        database,
        clock,
        log,
        adminGroups,
        mayRemoveLastAdmin: true,
      })
    },
    /** With the apps of the configuration module. */
    clients: async () => {
      const { clients = [] } = await readLogin(configuration)
      return new ClientManagement({ database, clock, record, declared: clients.map(clientOf) })
    },
  }
}

/**
 * `login` of the configuration module.
 * @throws ConfigurationError also for a provider with a fault: its admin groups would be missing
 */
async function readLogin({
  configFile,
  providers,
  demo,
}: Configuration): Promise<NonNullable<PosternConfig['login']>> {
  const login = (await loadConfigModule<PosternConfig>(configFile))?.login ?? {}
  const { faults } = resolveLoginConfig(login, providers, demo ? 'demo' : undefined)
  if (faults.length > 0) throw new ConfigurationError(faults)
  return login
}
