import type { Accounts } from '../../accounts/index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { App } from '../../http/app.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { ClientAuthentication } from '../clients/client-authentication.ts'
import type { Clients } from '../clients/clients.ts'
import { Consents } from '../consent/consents.ts'
import { deviceAuthorizationRoute } from './device-authorization-route.ts'
import { DeviceCodes } from './device-codes.ts'
import { deviceCodeGrant } from './device-grant.ts'
import { deviceRoutes } from './device-routes.ts'

export interface DeviceSignInParts {
  accounts: Accounts
  clients: Clients
  authentication: ClientAuthentication
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
}

/** Sign-ins of devices without a browser: command lines, televisions. */
export function createDeviceSignIn(parts: DeviceSignInParts) {
  const { accounts, authentication, clients, database, clock, baseUrl } = parts
  const deviceCodes = new DeviceCodes({ ...parts, ...accounts })
  const consents = new Consents(database, clock)
  return {
    grant: deviceCodeGrant(deviceCodes),
    async routes(app: App): Promise<void> {
      await deviceAuthorizationRoute(app, { authentication, deviceCodes, baseUrl })
      await deviceRoutes(app, { ...accounts, clients, deviceCodes, consents, database, baseUrl })
    },
    sweep: (now: number) => deviceCodes.sweep(now),
  }
}
