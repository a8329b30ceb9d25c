import { inspectEnvironment, readEnvironment, type Configuration } from '../config/environment.ts'
import { secretsFile, withStoredSecrets } from '../config/generated-secrets.ts'
import { Keyring } from '../crypto/keyring.ts'
import { CommandFailure } from './command-failure.ts'

/**
 * What commands beside the service work with: the environment and, in demo mode, the secrets that the service has stored.
 * Nothing is generated, and the configuration module is not loaded.
 * @throws ConfigurationError
 */
export function readSettings(): Configuration {
  return withStoredSecrets(readEnvironment(process.env))
}

/** @throws CommandFailure without a master secret */
export function readKeyring({ masterSecrets }: Pick<Configuration, 'masterSecrets'>): Keyring {
  if (masterSecrets) return new Keyring(masterSecrets)
  throw new CommandFailure('POSTERN_SECRET is missing, and no service has been started here in demo mode')
}

/** What a client of a service takes from the environment. All that is missing there or wrong does not concern it. */
export function readClientSettings() {
  const { configuration } = inspectEnvironment(process.env)
  const { baseUrl, port = 3000, databaseUrl, production } = configuration
  const demo = production === false && databaseUrl !== undefined
  const { webhookSecrets, adminApiKey } = demo ? withStoredSecrets(configuration) : configuration
  return {
    /** Where the service is, by this environment. */
    service: baseUrl ?? `http://127.0.0.1:${port}`,
    webhookSecret: webhookSecrets?.[0],
    /** Where it comes from, in words. */
    webhookSecretFrom:
      demo && !configuration.webhookSecrets
        ? `WEBHOOK_SECRET of ${secretsFile(databaseUrl)}`
        : 'WEBHOOK_SECRET of this environment',
    adminApiKey,
    /** Where the secrets of demo mode would be; `undefined` in production. */
    secretsFile: demo ? secretsFile(databaseUrl) : undefined,
  }
}
