import { createSweeper, type Worker } from '../runtime/worker.ts'
import { ConfigurationError } from '../config/environment.ts'
import { isScope } from '../http/access/principal.ts'
import { basePathOf } from '../http/requests/base-path.ts'
import { parseQueryString, rawQuery } from '../http/requests/parameters.ts'
import type { ServiceModule } from '../http/service-module.ts'
import { parseAppRequest, Clients, StoredClients } from './clients/clients.ts'
import { type OAuth2Config, linkTo, type SharedReach, signingAlgorithms } from './clients/client.ts'
import { isScopeText, validateOAuth2 } from './clients/client-faults.ts'
import { ClientDocuments } from './clients/client-documents.ts'
import { clientFinder, clientRoutes } from './clients/client-routes.ts'
import { clientSignInRoutes } from './clients/client-sign-in-routes.ts'
import { deleteUnusedRegistrations } from './clients/registered-clients.ts'
import { registrationRoute } from './clients/registration-routes.ts'
import { deleteEndedSecrets } from './clients/client-management.ts'
import { deviceAuthorizationRoute, deviceRoutes } from './device/device-routes.ts'
import { createServices, type OAuth2Parts, type OAuth2Services } from './services.ts'
import { discoveryRoutes } from './discovery.ts'
import { userinfoRoutes } from './userinfo-routes.ts'
import { introspectionRoute, revocationRoute } from './token/introspection.ts'
import { tokenRoutes } from './token/token-routes.ts'
import { allowedAppsRoutes } from './consent/allowed-apps-routes.ts'
import { consentRoute } from './consent/consent-route.ts'
import { authorizeRoutes } from './authorize/authorize-route.ts'
import { pushRoute } from './authorize/authorization-requests.ts'
import { BackchannelLogouts } from './logout/backchannel-logouts.ts'
import { endSessionRoutes } from './logout/end-session-routes.ts'
import { deleteExpired } from '../storage/sql-text.ts'
import type { AppSignIns } from '../accounts/sessions/authentication.ts'

/**
 * The applications of the product. They are created first, because accounts ask for their rights.
 * @throws ConfigurationError with all errors of the declarations
 */
export function createClients(
  config: OAuth2Config,
  { database, clock, configuration }: Pick<OAuth2Parts, 'database' | 'clock' | 'configuration'>,
): Clients {
  const { clientRegistrationApis: apis, clientRegistrationScopes: scopes } = configuration
  const reach = { apis, scopes }
  const faults = [...validateOAuth2(config), ...reachFaults(reach)]
  if (faults.length > 0) throw new ConfigurationError(faults)
  const { clientRegistration: mode, allowPrivateNetwork } = configuration
  const isOpen = mode === 'open' || mode === 'documents'
  return new Clients(config.clients ?? [], {
    stored: new StoredClients(database, clock),
    documents: isOpen ? new ClientDocuments({ clock, allowPrivateNetwork }) : undefined,
    reach,
  })
}

/** Nobody checks an app that registers itself: it must not act at this service. */
function reachFaults({ scopes }: SharedReach): string[] {
  return scopes
    .filter((scope) => isScope(scope) || !isScopeText(scope))
    .map((scope) =>
      isScope(scope)
        ? `CLIENT_REGISTRATION_SCOPES must not have ${scope}, a scope of this service: write scopes of your own APIs`
        : `CLIENT_REGISTRATION_SCOPES: ${JSON.stringify(scope)} is not a scope (RFC 6749, section 3.3)`,
    )
}

/** The OpenID Provider: the applications of the product sign in with this service. */
export function createOAuth2(parts: OAuth2Parts): ServiceModule & AppSignIns {
  const services = createServices(parts)
  const { clients, database, configuration, accounts } = services
  const { documents } = clients
  const { signingKeys: keys, audit } = accounts
  // Documents choose their algorithm when their app signs somebody in, which is too late to publish a key.
  keys.publish(
    documents ? signingAlgorithms : clients.declared().map(({ idTokenAlgorithm }) => idTokenAlgorithm),
  )
  const { allowPrivateNetwork } = configuration
  const { record } = audit
  return {
    ...appSignIns(services),
    async routes(app) {
      clientRoutes(app, services)
      clientSignInRoutes(app, services)
      await registrationRoute(app, services)
      await authorizeRoutes(app, services)
      allowedAppsRoutes(app, services)
      await consentRoute(app, services)
      await pushRoute(app, services)
      await tokenRoutes(app, services)
      await introspectionRoute(app, services)
      await revocationRoute(app, services)
      await userinfoRoutes(app, services)
      discoveryRoutes(app, services)
      await endSessionRoutes(app, services)
      await deviceAuthorizationRoute(app, services)
      await deviceRoutes(app, services)
    },
    finders: [clientFinder(database, clients)],
    workers: [
      ...(documents ? [documents] : []),
      new BackchannelLogouts({ ...parts, keys, record, allowPrivateNetwork }),
      sweeper(services),
    ],
  }
}

/** What sign-ins at GET /auth/{provider} need of the apps. */
function appSignIns({ clients, baseUrl, codes }: OAuth2Services): AppSignIns {
  return {
    parseRequest: async (query) => parseAppRequest(await clients.find(query['client_id'] ?? ''), query),
    async nameFor(returnTo) {
      const { pathname, search } = new URL(returnTo, baseUrl())
      if (pathname !== `${basePathOf(baseUrl())}/oauth2/authorize`) return undefined
      return (await clients.find(parseQueryString(rawQuery(search))['client_id'] ?? ''))?.name
    },
    async issueCode(tx, { code, clientId, redirectUri, challenge }, user) {
      const app = { client_id: clientId, redirect_uri: redirectUri, challenge }
      const grant = { ...app, session_id: null, scope: null, resource: null, nonce: null, claims: null }
      await tx.executeQuery(codes.issue(grant, user, code).statement)
    },
    isOpen: (code) => codes.isOpen(code),
    linkTo: async (clientId) => linkTo(await clients.find(clientId)),
  }
}

/** Milliseconds for which expired rows are kept: a second use of a code is then recognized, and a device learns that its code has expired. */
const expiring = {
  authorization_codes: 24 * 3_600_000,
  device_codes: 3_600_000,
  authorization_requests: 0,
} as const

/** Deletes what has expired. */
function sweeper({ database, clock, log, accounts, assertions }: OAuth2Services): Worker {
  const tables = Object.keys(expiring) as (keyof typeof expiring)[]
  return createSweeper('apps', clock, log, [
    ...tables.map((table) => (now: number) => deleteExpired(database, table, now - expiring[table])),
    (now) => assertions.sweep(now),
    (now) => deleteUnusedRegistrations(database, accounts.audit.record, now),
    (now) => database.inBackground((tx) => deleteEndedSecrets(tx, now)),
  ])
}
