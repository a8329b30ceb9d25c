import type { Accounts } from '../../accounts/index.ts'
import { BrowserBinding } from '../../accounts/sessions/browser-binding.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { App } from '../../http/app.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { ClientAuthentication } from '../clients/client-authentication.ts'
import type { Clients } from '../clients/clients.ts'
import { AllowedApps } from '../consent/allowed-apps.ts'
import { allowedAppsRoutes } from '../consent/allowed-apps-routes.ts'
import { ConsentForms } from '../consent/consent-forms.ts'
import { consentRoute } from '../consent/consent-route.ts'
import { ConsentStep } from '../consent/consent-step.ts'
import { Consents } from '../consent/consents.ts'
import type { AuthorizationCodes } from '../token/authorization-codes.ts'
import type { IdTokens } from '../token/id-tokens.ts'
import { AuthorizationRequests } from './authorization-requests.ts'
import { authorizeRoutes } from './authorize-route.ts'
import { Decision } from './decision.ts'
import { pushRoute } from './push-route.ts'

export interface AuthorizationParts {
  accounts: Accounts
  clients: Clients
  authentication: ClientAuthentication
  codes: AuthorizationCodes
  idTokens: IdTokens
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
  /** Whether an identity provider of this name is configured. */
  isProvider: (name: string) => boolean
}

/** What leads to a code: authorization requests, pushed requests and consent. */
export function createAuthorization(parts: AuthorizationParts) {
  const { accounts, clients, authentication, database, keyring, clock, baseUrl } = parts
  const requests = new AuthorizationRequests(database, clock)
  const binding = new BrowserBinding(baseUrl)
  const consents = new Consents(database, clock)
  const forms = new ConsentForms(keyring)
  const consent = new ConsentStep({ consents, forms, users: accounts.users, reader: database.reader })
  const decision = new Decision({ ...accounts, ...parts, requests, consent })
  return {
    async routes(app: App): Promise<void> {
      const shared = { clients, requests, binding, decision, consents, baseUrl }
      await authorizeRoutes(app, { ...accounts, ...shared })
      allowedAppsRoutes(
        app,
        new AllowedApps({ ...accounts, ...parts, consents, record: accounts.audit.record }),
        async (id) => (await accounts.users.find(database.reader, id)) !== undefined,
      )
      await consentRoute(app, { ...accounts, ...shared, forms })
      await pushRoute(app, { ...accounts, clients, authentication, requests })
    },
    sweep: (now: number) => requests.sweep(now),
  }
}
