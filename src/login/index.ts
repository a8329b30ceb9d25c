import { BrowserBinding } from '../accounts/sessions/browser-binding.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import type { EmitEvents } from '../accounts/users/account-events.ts'
import type { Accounts } from '../accounts/index.ts'
import { createSweeper } from '../accounts/sweeper.ts'
import { ConfigurationError } from '../config/environment.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { createGuardedFetch } from '../network/guarded-fetch.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { type AppSignIns, Flows } from './flow/flows.ts'
import type { LoginConfig, StoredTokenScopes } from './config.ts'
import type { EndSessionRequest } from './provider-client/end-session.ts'
import { formPostRoute, callbackRoute, type CallbackRouteParts } from './flow/callback-route.ts'
import { Hooks } from './hooks.ts'
import { checkLimit, checkProvider, type ProviderFinding } from './check-provider.ts'
import { ProviderStore } from './provider-store.ts'
import { providersRoutes } from './providers-routes.ts'
import { pageRoutes, redirectToBaseUrl } from './page-routes.ts'
import { ProviderClient } from './provider-client/provider-client.ts'
import { ProviderTokens } from './provider-tokens.ts'
import { Provisioning } from './provisioning.ts'
import { letterIcon } from './providers/icon.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'
import { RefusalMessages } from './flow/failures.ts'
import { resolveLoginConfig } from './resolve-login-config.ts'
import { SignIn } from './sign-in.ts'
import { withForms } from '../http/requests/parameters.ts'
import type { App } from '../http/app.ts'
import { linkRoute, type LinkRouteParts, startRoute, type StartRouteParts } from './flow/start-route.ts'

/** The provider of demo mode, which runs in this process. Its issuer is known once the service listens. */
export interface BuiltInProvider {
  name: string
  label: string
  clientId: string
  clientSecret: string
  issuer: () => string
  scope: string
  /** Resolves when it is ready to answer: it is loaded at the first sign-in. */
  loaded: () => Promise<unknown>
}

interface LoginParts extends ModuleParts {
  config: LoginConfig
  accounts: Accounts
  builtIn?: BuiltInProvider | undefined
  /** For hooks: emits events in the transaction of the sign-in. */
  emit: EmitEvents
  apps: AppSignIns
}

export interface Login extends ServiceModule {
  /** For handlers: access tokens of users at providers with `keepTokens`. */
  providerTokens: ProviderTokens
  /** Whether a provider of this name is configured. */
  isProvider: (name: string) => boolean
  /** Where a browser ends its session at a provider; `undefined` when the sign-out ends here. */
  endSessionUrl: (provider: string, request: EndSessionRequest) => Promise<URL | undefined>
}

/**
 * Sign-in through identity providers.
 * @throws ConfigurationError with all errors of the configured providers and hooks.
 */
export function createLogin(parts: LoginParts): Login {
  const { configuration, config, database, keyring, clock, log, metrics, baseUrl, accounts, apps } = parts
  const calls = outgoingCalls(configuration.allowPrivateNetwork)
  const { providers, stored } = createProviders(parts, calls)
  const flows = new Flows({ database, keyring, clock, baseUrl })
  const providerTokens = new ProviderTokens({ database, keyring, clock, log, providers, stored })
  const hooks = new Hooks({ config, emit: parts.emit, clock })
  const provisioning = new Provisioning({ ...accounts, hooks, tokens: providerTokens })
  const signIn = new SignIn({ ...accounts, database, clock, provisioning, apps, baseUrl })
  const counter = metrics.counter('postern_sign_ins_total', 'Sign-ins that ended, by provider and outcome', [
    'provider',
    'outcome',
  ])
  const shared = {
    ...accounts,
    providers,
    binding: new BrowserBinding(baseUrl),
    lastProvider: lastProviderCookie(baseUrl),
    refusals: new RefusalMessages(keyring),
    baseUrl,
    demo: parts.builtIn !== undefined,
  }
  return {
    providerTokens,
    isProvider: (name) => providers.has(name),
    endSessionUrl: async (provider, request) => providers.get(provider)?.endSessionUrl(request),
    async routes(app) {
      app.addHook('onClose', () => calls.close())
      await loginRoutes(app, {
        ...shared,
        database,
        flows,
        signIn,
        apps,
        acrValues: configuration.adminAcrValues,
        count: (provider, outcome) => counter.inc({ provider, outcome }),
      })
      await formPostRoute(app, providers)
      await pageRoutes(app, { ...shared, apps, reader: database.reader })
      providersRoutes(app, {
        ...shared,
        database,
        clock,
        store: new ProviderStore(database),
        check: createChecks(providers, calls, parts),
        builtIn: parts.builtIn?.name,
        keepsTokens: (name) => stored.has(name),
      })
    },
    workers: [createSweeper('sign-ins', clock, log, [(now) => flows.sweep(now)])],
  }
}

/** The provider that the browser used last, for its button on /login: a name, without a person or a session. */
function lastProviderCookie(baseUrl: () => string): HostCookie {
  return new HostCookie('postern_last_provider', baseUrl, /^[\w-]{1,64}$/)
}

/** Guarded connections to providers. The built-in provider is this process, so private addresses are allowed for it. */
function outgoingCalls(allowPrivateNetwork: boolean) {
  const outside = createOutboundAgent({ allowPrivateNetwork })
  const inside = createOutboundAgent({ allowPrivateNetwork: true })
  return {
    outside: createGuardedFetch({ agent: outside, allowPrivateNetwork, timeout: 10_000 }),
    inside: createGuardedFetch({ agent: inside, allowPrivateNetwork: true, timeout: 10_000 }),
    /** For checks, which end sooner. @param within the built-in provider, which is this process */
    checks: (within: boolean) =>
      createGuardedFetch({
        agent: within ? inside : outside,
        allowPrivateNetwork: within || allowPrivateNetwork,
        timeout: checkLimit,
      }),
    async close() {
      await Promise.all([outside.close(), inside.close()])
    },
  }
}

/** Checks of providers by name. Simultaneous checks of one provider share their calls. */
function createChecks(
  providers: ReadonlyMap<string, ProviderClient>,
  calls: OutgoingCalls,
  { clock, builtIn, configuration }: Pick<LoginParts, 'clock' | 'builtIn' | 'configuration'>,
): (name: string) => Promise<ProviderFinding> {
  const running = new Map<string, Promise<ProviderFinding>>()
  return async (name) => {
    const { provider } = providers.get(name)!
    const within = name === builtIn?.name
    if (within) await builtIn.loaded()
    const allowPrivateNetwork = within || configuration.allowPrivateNetwork
    const check =
      running.get(name) ??
      checkProvider(provider, calls.checks(within), { clock, allowPrivateNetwork }).finally(() =>
        running.delete(name),
      )
    running.set(name, check)
    return check
  }
}

type OutgoingCalls = ReturnType<typeof outgoingCalls>

function createProviders(
  { configuration, config, clock, builtIn }: LoginParts,
  calls: OutgoingCalls,
): { providers: Map<string, ProviderClient>; stored: StoredTokenScopes } {
  const { allowPrivateNetwork } = configuration
  const { providers, stored, faults } = resolveLoginConfig(config, configuration.providers, builtIn?.name)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const common = { fetch: calls.outside, allowPrivateNetwork, clock }
  const providerClients = new Map(
    providers.map((provider) => [provider.name, new ProviderClient({ ...common, provider })]),
  )
  if (builtIn && !providerClients.has(builtIn.name)) {
    const provider = resolveBuiltIn(builtIn, config.updateProfile ?? false)
    providerClients.set(
      builtIn.name,
      new ProviderClient({ provider, fetch: calls.inside, allowPrivateNetwork: true, clock }),
    )
  }
  return { providers: providerClients, stored }
}

function resolveBuiltIn({ issuer, ...given }: BuiltInProvider, updateProfile: boolean): ResolvedProvider {
  return {
    ...given,
    icon: letterIcon('Demo', '#1f6f5c'),
    pkce: true,
    nonce: true,
    tokenAuth: undefined,
    provesAuthentication: true,
    groups: { claim: undefined, admin: [], stored: undefined, exclusive: false },
    admission: { emailDomains: [], groups: [] },
    updateProfile,
    endSession: false,
    authParams: {},
    quirks: {},
    presetSetting: () => '',
    kind: 'openid',
    get issuer() {
      return issuer()
    },
    authUrl: undefined,
    tokenUrl: undefined,
    profileUrl: undefined,
    jwksUrl: undefined,
    identityNamespace: `built-in:${given.name}`,
  }
}

interface LoginRoutesParts extends StartRouteParts, CallbackRouteParts, LinkRouteParts {
  demo: boolean
}

/** The routes of a browser's sign-in: start, callback, link. */
async function loginRoutes(app: App, parts: LoginRoutesParts): Promise<void> {
  await withForms(app, (routes) => {
    if (parts.demo) redirectToBaseUrl(routes, parts.baseUrl)
    startRoute(routes, parts)
    callbackRoute(routes, parts)
    linkRoute(routes, parts)
  })
}
