import { HostCookie } from '../http/responses/host-cookie.ts'
import type { EmitEvents } from '../accounts/users/account-events.ts'
import type { Accounts } from '../accounts/index.ts'
import { ConfigurationError } from '../config/environment.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { createOutboundAgent } from '../network/exchange.ts'
import { createGuardedFetch } from '../network/guarded-fetch.ts'
import { shareRun } from '../runtime/bounded-cache.ts'
import { Flows } from './flow/flows.ts'
import type { AppSignIns } from '../accounts/sessions/authentication.ts'
import { type LoginConfig, type StoredTokenScopes, resolveLoginConfig } from './config.ts'
import { Hooks } from './hooks.ts'
import { checkLimit, checkProvider, type ProviderFinding } from './check-provider.ts'
import { ProviderClient } from './provider-client/provider-client.ts'
import { ProviderTokens } from './provider-tokens.ts'
import { Provisioning } from './provisioning.ts'
import { letterIcon } from './providers/preset.ts'
import type { OpenIdProvider } from './providers/resolved-provider.ts'
import { resolveProvider } from './providers/resolve-provider.ts'
import { SignIn } from './sign-in.ts'

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

export interface LoginParts extends ModuleParts {
  config: LoginConfig
  accounts: Accounts
  builtIn?: BuiltInProvider | undefined
  /** For hooks: emits events in the transaction of the sign-in. */
  emit: EmitEvents
  apps: AppSignIns
}

/** What the module does, for its routes. */
export type LoginServices = ReturnType<typeof createLoginServices>

/** All services of the module, in the order in which they need each other. @throws ConfigurationError */
export function createLoginServices(parts: LoginParts) {
  const { configuration, metrics, baseUrl, accounts, builtIn } = parts
  const calls = { outside: connections(configuration.allowPrivateNetwork), inside: connections(true) }
  const { providers, stored } = createProviders(parts, calls)
  const providerTokens = new ProviderTokens({ ...parts, providers, stored })
  const hooks = new Hooks(parts)
  const flows = new Flows(parts)
  const linkable = parts.config.sameAddress === 'offer' ? providers : undefined
  const provisioning = new Provisioning({ ...accounts, hooks, tokens: providerTokens, stored, linkable })
  return {
    ...parts,
    ...accounts,
    closeConnections: () => Promise.all([calls.outside.close(), calls.inside.close()]),
    providers,
    stored,
    providerTokens,
    flows,
    signIn: new SignIn({ ...parts, ...accounts, provisioning, flows }),
    /** The provider that the browser used last, for its button on /login: a name, without a person or a session. */
    lastProvider: new HostCookie('postern_last_provider', baseUrl, /^[\w-]{1,64}$/),
    /** The token of the invitation whose link the browser opened. */
    invitationCookie: new HostCookie('postern_invitation', baseUrl),
    checkProvider: createChecks(providers, calls, parts),
    demo: builtIn !== undefined,
    /** `outcome`: `ok`, or the code of the failure. */
    signInsEnded: metrics.counter('postern_sign_ins_total', 'Sign-ins that ended, by provider and outcome', [
      'provider',
      'outcome',
    ]),
  }
}

/** Guarded connections to providers. */
function connections(allowPrivateNetwork: boolean) {
  const agent = createOutboundAgent({ allowPrivateNetwork })
  const within = (timeout: number) => createGuardedFetch({ agent, allowPrivateNetwork, timeout })
  return {
    allowPrivateNetwork,
    fetch: within(10_000),
    /** Ends sooner. */
    checkFetch: within(checkLimit),
    close: () => agent.close(),
  }
}

interface Connections {
  outside: ReturnType<typeof connections>
  /** To the built-in provider, which is this process: private addresses are allowed for it. */
  inside: ReturnType<typeof connections>
}

/** Checks of providers by name. Simultaneous checks of one provider share their calls. */
function createChecks(
  providers: ReadonlyMap<string, ProviderClient>,
  { outside, inside }: Connections,
  { clock, builtIn }: Pick<LoginParts, 'clock' | 'builtIn'>,
): (name: string) => Promise<ProviderFinding> {
  const running = new Map<string, Promise<ProviderFinding>>()
  return async (name) => {
    const { provider } = providers.get(name)!
    const isBuiltIn = name === builtIn?.name
    if (isBuiltIn) await builtIn.loaded()
    const { checkFetch, allowPrivateNetwork } = isBuiltIn ? inside : outside
    return shareRun(running, name, () => checkProvider(provider, checkFetch, { clock, allowPrivateNetwork }))
  }
}

function createProviders(
  { configuration, config, clock, builtIn }: LoginParts,
  { outside, inside }: Connections,
): { providers: Map<string, ProviderClient>; stored: StoredTokenScopes } {
  const { providers, stored, faults } = resolveLoginConfig(config, configuration.providers, builtIn?.name)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const providerClients = new Map(
    providers.map((provider) => [provider.name, new ProviderClient({ ...outside, clock, provider })]),
  )
  if (builtIn && !providerClients.has(builtIn.name)) {
    const provider = resolveBuiltIn(builtIn, config.updateProfile ?? false)
    providerClients.set(builtIn.name, new ProviderClient({ ...inside, clock, provider }))
  }
  return { providers: providerClients, stored }
}

function resolveBuiltIn(
  { issuer, loaded, ...client }: BuiltInProvider,
  updateProfile: boolean,
): OpenIdProvider {
  const provider = resolveProvider({ ...client, updateProfile, issuer: 'http://built-in.invalid' })
  if (!('kind' in provider && provider.kind === 'openid')) throw new Error('the built-in provider is invalid')
  return {
    ...provider,
    icon: letterIcon('Demo', '#1f6f5c'),
    get issuer() {
      return issuer()
    },
    loaded,
    identityNamespace: `built-in:${client.name}`,
  }
}
