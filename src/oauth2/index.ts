import type { Worker } from '../runtime/worker.ts'
import type { SignedInUser } from '../accounts/sessions/authentication.ts'
import type { Accounts } from '../accounts/index.ts'
import { createSweeper } from '../accounts/sweeper.ts'
import { ConfigurationError } from '../config/environment.ts'
import { isScope } from '../http/access/scopes.ts'
import type { App } from '../http/app.ts'
import { basePathOf } from '../http/requests/base-path.ts'
import { parseQueryString, rawQuery } from '../http/requests/parameters.ts'
import type { AppLink } from '../http/pages/error-page.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Tx } from '../storage/database.ts'
import { type AppRequest, isAppRequest, parseAppRequest } from './clients/app-request.ts'
import { ClientAssertions } from './clients/client-assertions.ts'
import { ClientAuthentication } from './clients/client-authentication.ts'
import type { ClientConfig } from './clients/client-config.ts'
import { linkTo, type SharedReach, signingAlgorithms } from './clients/client.ts'
import { isScopeText, validateClients } from './clients/client-faults.ts'
import { ClientDocuments } from './clients/client-documents.ts'
import { clientFinder, ClientList } from './clients/client-list.ts'
import { ClientManagement } from './clients/client-management.ts'
import { clientSignInRoutes, ClientSignIns } from './clients/client-sign-in-routes.ts'
import { clientRoutes } from './clients/client-routes.ts'
import { deleteUnusedRegistrations } from './clients/registered-clients.ts'
import { registrationRoute } from './clients/registration-routes.ts'
import { deleteEndedSecrets } from './clients/client-secrets.ts'
import { StoredClients } from './clients/client-store.ts'
import { Clients } from './clients/clients.ts'
import { createDeviceSignIn, deviceGrantType } from './device/index.ts'
import { type EndSessionUrl, SignOut } from './logout/sign-out.ts'
import { AuthorizationCodes } from './token/authorization-codes.ts'
import { authorizationCodeGrant, clientCredentialsGrant, refreshTokenGrant } from './token/grants.ts'
import { discoveryRoutes } from './discovery.ts'
import { userinfoRoutes } from './userinfo-routes.ts'
import { IdTokens } from './token/id-tokens.ts'
import { introspectionRoute } from './token/introspection.ts'
import { revocationRoute } from './token/revocation.ts'
import { tokenRoutes } from './token/token-routes.ts'
import { TokenStatus } from './token/token-status.ts'
import { UserClaims } from './user-claims.ts'
import { BrowserBinding } from '../accounts/sessions/browser-binding.ts'
import { AllowedApps, allowedAppsRoutes } from './consent/allowed-apps-routes.ts'
import { ConsentForms } from './consent/consent-page.ts'
import { consentRoute } from './consent/consent-route.ts'
import { ConsentStep } from './consent/consent-step.ts'
import { Consents } from './consent/consents.ts'
import { AuthorizationRequests } from './authorize/authorization-requests.ts'
import { authorizeRoutes } from './authorize/authorize-route.ts'
import { Decision } from './authorize/decision.ts'
import { pushRoute } from './authorize/push-route.ts'
import { BackchannelLogouts } from './logout/backchannel-logouts.ts'
import { endSessionRoutes } from './logout/end-session-routes.ts'
import { Onward } from './logout/end-session-request.ts'

/** The part of `login` in the configuration module that is about the product's applications. */
export interface OAuth2Config {
  /** The applications of the product, which sign in with this service. */
  clients?: readonly ClientConfig[]
}

export interface OAuth2Parts extends ModuleParts {
  /** Whether an identity provider of this name is configured. */
  isProvider: (name: string) => boolean
  clients: Clients
  accounts: Accounts
  endSessionUrl: EndSessionUrl
}

export interface OAuth2 extends ServiceModule {
  /** For GET /auth/{provider}. */
  parseRequest: (query: Readonly<Record<string, string | undefined>>) => Promise<AppRequest | undefined>
  nameFor: (returnTo: string) => Promise<string | undefined>
  issueCode: (tx: Tx, app: Omit<AppRequest, 'state'> & { code: string }, user: SignedInUser) => Promise<void>
  isOpen: (code: string) => Promise<boolean>
  linkTo: (clientId: string) => Promise<AppLink | undefined>
}

/**
 * The applications of the product. They are created first, because accounts ask for their rights.
 * @throws ConfigurationError with all errors of the declarations
 */
export function createClients(
  { clients = [] }: OAuth2Config,
  { database, clock, configuration }: Pick<OAuth2Parts, 'database' | 'clock' | 'configuration'>,
): Clients {
  const { clientRegistrationApis: apis, clientRegistrationScopes: scopes } = configuration
  const reach = { apis, scopes }
  const faults = [...validateClients(clients), ...reachFaults(reach)]
  if (faults.length > 0) throw new ConfigurationError(faults)
  const { clientRegistration: mode, allowPrivateNetwork } = configuration
  const isOpen = mode === 'open' || mode === 'documents'
  return new Clients(clients, {
    stored: new StoredClients(database, clock),
    documents: isOpen ? new ClientDocuments({ clock, allowPrivateNetwork }) : undefined,
    reach,
    isOpen,
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
export function createOAuth2(parts: OAuth2Parts): OAuth2 {
  const { clients, database, clock, baseUrl, accounts } = parts
  const { refreshTokens, tokenFamilies, users, signingKeys: keys } = accounts
  const codes = new AuthorizationCodes({ database, clock, refreshTokens, tokenFamilies })
  const userClaims = new UserClaims(users, database.reader)
  const idTokens = new IdTokens({ keys, clock, baseUrl, userClaims })
  const management = new ClientManagement({
    database,
    clock,
    record: accounts.audit.record,
    declared: clients.declared(),
    publishKeys: (algorithm) => keys.publish([algorithm]),
  })
  const { documents } = clients
  // Documents choose their algorithm when their app signs somebody in, which is too late to publish a key.
  keys.publish(
    documents ? signingAlgorithms : clients.declared().map(({ idTokenAlgorithm }) => idTokenAlgorithm),
  )
  const logout = createLogout({ ...parts, idTokens })
  const assertions = new ClientAssertions({ database, clock, baseUrl })
  const authentication = new ClientAuthentication({ ...accounts, clients, assertions })
  const authorization = createAuthorization({ ...parts, authentication, codes, idTokens })
  const devices = createDeviceSignIn({ ...parts, authentication })
  const grants = new Map([
    ['authorization_code', authorizationCodeGrant(codes)],
    ['refresh_token', refreshTokenGrant(refreshTokens)],
    [deviceGrantType, devices.grant],
    ['client_credentials', clientCredentialsGrant()],
  ])
  return {
    ...appSignIns(parts, codes),
    async routes(app) {
      await managementRoutes(app, parts, management)
      const status = new TokenStatus(accounts)
      await authorization.routes(app)
      await tokenRoutes(app, { ...accounts, clients, authentication, idTokens, grants })
      await introspectionRoute(app, { ...accounts, authentication, status, baseUrl })
      await revocationRoute(app, { ...accounts, clients, authentication, status })
      await userinfoRoutes(app, { ...accounts, userClaims, baseUrl })
      const { scopes } = clients.reach
      discoveryRoutes(app, {
        baseUrl,
        grantTypes: [...grants.keys()],
        scopes,
        documents: documents !== undefined,
      })
      await logout.routes(app)
      await devices.routes(app)
    },
    finders: [clientFinder(database, clients)],
    workers: [
      ...(documents ? [documents] : []),
      ...logout.workers,
      sweeper(parts, [codes, devices, authorization, assertions]),
    ],
  }
}

/** What sign-ins at GET /auth/{provider} need of the apps. */
function appSignIns(
  { clients, baseUrl }: OAuth2Parts,
  codes: AuthorizationCodes,
): Pick<OAuth2, 'parseRequest' | 'nameFor' | 'issueCode' | 'isOpen' | 'linkTo'> {
  return {
    async parseRequest(query) {
      if (!isAppRequest(query)) return undefined
      return parseAppRequest(await clients.find(query['client_id'] ?? ''), query)
    },
    async nameFor(returnTo) {
      const { pathname, search } = new URL(returnTo, baseUrl())
      if (pathname !== `${basePathOf(baseUrl())}/oauth2/authorize`) return undefined
      return (await clients.find(parseQueryString(rawQuery(search))['client_id'] ?? ''))?.name
    },
    async issueCode(tx, { code, ...app }, user) {
      const grant = { ...app, sessionId: null, scope: null, resource: null, nonce: null }
      await tx.executeQuery(codes.issue(grant, user, code).statement)
    },
    isOpen: (code) => codes.isOpen(code),
    linkTo: async (clientId) => linkTo(await clients.find(clientId)),
  }
}

/** The calls with which administrators manage apps, and with which an app registers itself. */
async function managementRoutes(app: App, parts: OAuth2Parts, management: ClientManagement): Promise<void> {
  const { clients, database, keyring, clock, accounts, configuration } = parts
  const { sessionIdle: idle, clientRegistration: mode } = configuration
  const { tokenFamilies, audit } = accounts
  const cursors = new Cursors(keyring)
  clientRoutes(app, management, new ClientList(database, cursors, clients.declared()))
  const signIns = { database, clock, cursors, clients: management, tokenFamilies, record: audit.record, idle }
  clientSignInRoutes(app, new ClientSignIns(signIns))
  await registrationRoute(app, { ...accounts, mode, reach: clients.reach, management })
}

/** What has rows that expire. */
interface Swept {
  sweep(now: number): Promise<void>
}

/** Deletes what has expired. */
function sweeper({ database, clock, log, accounts }: OAuth2Parts, swept: readonly Swept[]): Worker {
  return createSweeper('apps', clock, log, [
    ...swept.map((each) => (now: number) => each.sweep(now)),
    (now) => deleteUnusedRegistrations(database, accounts.audit.record, now),
    (now) => database.transaction((tx) => deleteEndedSecrets(tx, now), { priority: 'work' }),
  ])
}

interface AuthorizationParts extends OAuth2Parts {
  authentication: ClientAuthentication
  codes: AuthorizationCodes
  idTokens: IdTokens
}

/** What leads to a code: authorization requests, pushed requests and consent. */
function createAuthorization(parts: AuthorizationParts) {
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

/** Sign-out for apps, and notices for those that it concerns. */
function createLogout(parts: OAuth2Parts & { idTokens: IdTokens }): ServiceModule {
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
