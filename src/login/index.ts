import type { EmitEvents } from '../accounts/account-events.ts'
import type { Accounts } from '../accounts/index.ts'
import { createSweeper } from '../accounts/sweeper.ts'
import type { Clock } from '../runtime/clock.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Room } from '../http/room.ts'
import { createGuardedFetch } from '../network/guarded-fetch.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Admission } from './admission.ts'
import { AuthorizationCodes } from './authorization-codes.ts'
import { Clients } from './clients.ts'
import type { LoginConfig } from './config.ts'
import { FlowCookie } from './flow-cookie.ts'
import { Flows } from './flows.ts'
import { formPostRoute } from './form-post.ts'
import { Hooks } from './hooks.ts'
import { loginRoutes } from './routes.ts'
import { pageRoutes } from './page-routes.ts'
import { ProviderClient } from './provider-client.ts'
import { ProviderTokens } from './provider-tokens.ts'
import { letterIcon } from './providers/icon.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'
import { RefusalMessages } from './refusal-messages.ts'
import { resolveProviders } from './resolve-providers.ts'
import { SignIn } from './sign-in.ts'
import { keptProviders } from './token-keeping.ts'
import { tokenRoutes } from './token-routes.ts'

/** A provider that comes with the service: the demo's. Its issuer is known once the service listens. */
export interface BuiltInProvider {
  name: string
  label: string
  clientId: string
  clientSecret: string
  issuer: () => string
  scope: string
}

export interface LoginParts {
  configuration: Configuration
  config: LoginConfig
  database: Database
  keyring: Keyring
  clock: Clock
  log: Log
  metrics: Metrics
  baseUrl: () => string
  accounts: Accounts
  builtIn?: BuiltInProvider | undefined
  /** For hooks: emits in the transaction of the sign-in. */
  emit: EmitEvents
}

export interface Login extends Room {
  /** For handlers that declare the need: users' access tokens at providers whose tokens are kept. */
  providerTokens: ProviderTokens
}

/**
 * Sign-in through identity providers, and the exchange for apps.
 * @throws ConfigurationError that names every provider and app that cannot be used.
 */
export function createLogin(parts: LoginParts): Login {
  const { configuration, config, database, keyring, clock, log, metrics, baseUrl, accounts } = parts
  const calls = outgoingCalls(configuration.allowPrivateNetwork)
  const providers = createProviders(parts, calls)
  const clients = new Clients(config.clients ?? [])
  const { audit, events, users, sessions, sessionCookie, refreshTokens, accessTokens, roleChanges } = accounts
  const codes = new AuthorizationCodes({ database, clock, refreshTokens })
  const flows = new Flows({ database, keyring, clock, baseUrl })
  const kept = keptProviders(config)
  const providerTokens = new ProviderTokens({ database, keyring, clock, log, clients: providers, kept })
  const hooks = new Hooks({ config, emit: parts.emit, clock })
  const admission = new Admission({ users, audit, events, hooks, tokens: providerTokens })
  const signIn = new SignIn({ database, sessions, roleChanges, admission, codes, baseUrl })
  const refusals = new RefusalMessages(keyring)
  const flowCookie = new FlowCookie(baseUrl)
  const counter = metrics.counter('postern_sign_ins_total', 'Sign-ins that ended, by provider and outcome', [
    'provider',
    'outcome',
  ])
  const count = (provider: string, outcome: string): void => counter.inc({ provider, outcome })
  return {
    providerTokens,
    async routes(app) {
      const demo = parts.builtIn !== undefined
      await loginRoutes(app, {
        providers,
        flows,
        signIn,
        clients,
        flowCookie,
        sessionCookie,
        audit,
        refusals,
        recentSignIn: accounts.recentSignIn,
        acrValues: configuration.adminAcrValues,
        baseUrl,
        demo,
        count,
      })
      await formPostRoute(app, providers)
      await tokenRoutes(app, { clients, codes, refreshTokens, accessTokens, audit })
      await pageRoutes(app, {
        providers,
        reader: database.reader,
        users,
        sessions,
        sessionCookie,
        flowCookie,
        refusals,
        baseUrl,
        demo,
      })
    },
    workers: [
      createSweeper('sign-ins', clock, log, [(now) => flows.sweep(now), (now) => codes.sweep(now)]),
      { name: 'provider-calls', start: () => undefined, stop: () => calls.close() },
    ],
  }
}

/** Providers are called over guarded connections; the built-in one is this process, so its address is always ours. */
function outgoingCalls(allowPrivateNetwork: boolean) {
  const outside = createOutboundAgent({ allowPrivateNetwork })
  const inside = createOutboundAgent({ allowPrivateNetwork: true })
  return {
    outside: createGuardedFetch({ agent: outside, allowPrivateNetwork, timeout: 10_000 }),
    inside: createGuardedFetch({ agent: inside, allowPrivateNetwork: true, timeout: 10_000 }),
    async close() {
      await Promise.all([outside.close(), inside.close()])
    },
  }
}

type OutgoingCalls = ReturnType<typeof outgoingCalls>

function createProviders(
  { configuration, config, clock, builtIn }: LoginParts,
  calls: OutgoingCalls,
): Map<string, ProviderClient> {
  const { allowPrivateNetwork } = configuration
  const { providers, faults } = resolveProviders(config, configuration.providers, builtIn?.name)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const common = { fetch: calls.outside, allowPrivateNetwork, clock }
  const clients = new Map(
    providers.map((provider) => [provider.name, new ProviderClient({ ...common, provider })]),
  )
  if (builtIn && !clients.has(builtIn.name)) {
    const provider = resolveBuiltIn(builtIn)
    clients.set(
      builtIn.name,
      new ProviderClient({ provider, fetch: calls.inside, allowPrivateNetwork: true, clock }),
    )
  }
  return clients
}

function resolveBuiltIn({
  name,
  label,
  clientId,
  clientSecret,
  issuer,
  scope,
}: BuiltInProvider): ResolvedProvider {
  return {
    name,
    label,
    icon: letterIcon('Demo', '#1f6f5c'),
    clientId,
    clientSecret,
    scope,
    pkce: true,
    nonce: true,
    tokenAuth: undefined,
    provesAuthentication: true,
    authParams: {},
    quirks: {},
    own: () => '',
    kind: 'openid',
    get issuer() {
      return issuer()
    },
    authUrl: undefined,
    tokenUrl: undefined,
    profileUrl: undefined,
    jwksUrl: undefined,
    issuerName: `built-in:${name}`,
  }
}
