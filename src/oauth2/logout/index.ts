import type { Accounts } from '../../accounts/index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { ServiceModule } from '../../http/service-module.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { Clients } from '../clients/clients.ts'
import type { IdTokens } from '../token/id-tokens.ts'
import { endSessionRoutes } from './end-session-routes.ts'
import { Onward } from './onward.ts'
import { SignOut, type EndSessionUrl } from './sign-out.ts'

export interface LogoutParts {
  clients: Clients
  idTokens: IdTokens
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
  accounts: Accounts
  endSessionUrl: EndSessionUrl
}

/** Sign-out for apps. */
export function createLogout(parts: LogoutParts): ServiceModule {
  const { clock, keyring, accounts } = parts
  const onward = new Onward(keyring, clock)
  const signOut = new SignOut({ ...parts, ...accounts, record: accounts.audit.record, onward })
  return {
    routes: (app) => endSessionRoutes(app, { ...parts, ...accounts, signOut, onward }),
    workers: [],
  }
}
