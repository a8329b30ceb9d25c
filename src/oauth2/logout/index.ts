import type { Accounts } from '../../accounts/index.ts'
import type { Configuration } from '../../config/environment.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { ServiceModule } from '../../http/service-module.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Clients } from '../clients/clients.ts'
import { Consents } from '../consent/consents.ts'
import type { IdTokens } from '../token/id-tokens.ts'
import { BackchannelLogouts } from './backchannel-logouts.ts'
import { endSessionRoutes } from './end-session-routes.ts'
import { Onward } from './end-session-request.ts'
import { type EndSessionUrl, SignOut } from './sign-out.ts'

export interface LogoutParts {
  clients: Clients
  idTokens: IdTokens
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
  accounts: Accounts
  configuration: Pick<Configuration, 'allowPrivateNetwork'>
  log: Log
  endSessionUrl: EndSessionUrl
}

/** Sign-out for apps, and notices for those that it concerns. */
export function createLogout(parts: LogoutParts): ServiceModule {
  const { clock, database, keyring, accounts, configuration } = parts
  const onward = new Onward(keyring, clock)
  const { record } = accounts.audit
  const consents = new Consents(database, clock)
  const signOut = new SignOut({ ...parts, ...accounts, record, onward, consents })
  const { allowPrivateNetwork } = configuration
  const told = new BackchannelLogouts({ ...parts, keys: accounts.signingKeys, record, allowPrivateNetwork })
  return {
    routes: (app) => endSessionRoutes(app, { ...parts, ...accounts, signOut, onward }),
    workers: [told],
  }
}
