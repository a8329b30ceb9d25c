import { describeAccountEvents, chosenAccountEvents } from './accounts/users/account-events.ts'
import { createAccounts, type Accounts } from './accounts/index.ts'
import type { PosternConfig } from './define-config.ts'
import { createDemoIdentityProvider } from './demo/identity-provider.ts'
import { createEmitting } from './emitting/index.ts'
import type { ModuleParts, ServiceModule } from './http/service-module.ts'
import { createListing } from './listing/index.ts'
import { createLogin, type Login } from './login/index.ts'
import { adminGroupsOf } from './login/config.ts'
import { createClients, createOAuth2 } from './oauth2/index.ts'
import { programScopes } from './forward-auth/hosts.ts'
import { createForwardAuth } from './forward-auth/index.ts'
import { createEvents } from './events/index.ts'
import { createReceiving, type Receiving } from './receiving/index.ts'
import type { OpenSpool } from './receiving/spool/file-spool.ts'

/** All modules, and what serves their routes. */
export type Modules = ReturnType<typeof createModules>

/** Creates the modules, and gives each what it needs of others. The only function that knows all of them. */
export function createModules(common: ModuleParts, config: PosternConfig, spool: OpenSpool | undefined) {
  const { configuration, database } = common
  const accountEvents = config.login?.events ?? false
  const emitting = createEmitting({
    ...common,
    config: config.emitting,
    otherBuiltIn: describeAccountEvents(chosenAccountEvents(accountEvents)),
    // Emitting is created first, because accounts emit events.
    noteRefusal: (...about) => accounts.noteRefusal(...about),
  })
  const clients = createClients(config.login ?? {}, common)
  const accounts: Accounts = createAccounts({
    ...common,
    events: accountEvents,
    adminGroups: adminGroupsOf(config.login ?? {}, configuration.providers),
    emit: emitting.emitBuiltIn,
    findApp: (id) => clients.find(id),
    applicationScopes: programScopes(config.forwardAuth ?? {}),
  })
  const demoProvider = configuration.demo ? createDemoIdentityProvider(common) : undefined
  const oauth2 = createOAuth2({
    ...common,
    clients,
    accounts,
    isProvider: (name) => login.isProvider(name),
    // The OpenID Provider is created first, because sign-ins issue its codes.
    signInNative: (...about) => login.signInNative(...about),
    endSessionUrl: (...about) => login.endSessionUrl(...about),
    claimsHook: config.login?.claims,
  })
  const login: Login = createLogin({
    ...common,
    config: config.login ?? {},
    accounts,
    builtIn: demoProvider?.provider,
    emit: emitting.emitWithin,
    apps: oauth2,
  })
  const receiving: Receiving = createReceiving({
    ...common,
    config: config.receiving,
    emitWithin: emitting.emitWithin,
    providerTokens: login.providerTokens,
    spool,
  })
  const listedAdmins = () => accounts.users.listedAdmins(database.reader)
  const listing = createListing({ ...common, config: config.listing, listedAdmins, admins: accounts.admins })
  const forwardAuth = createForwardAuth({ ...common, config: config.forwardAuth ?? {}, accounts })
  const events = createEvents({ ...common, authenticate: accounts.authenticate })
  const all: ServiceModule[] = [accounts, login, oauth2, forwardAuth, receiving, emitting, events, listing]
  return { all, accounts, login, emitting, receiving, demoProvider }
}
