import type { Accounts } from '../accounts/index.ts'
import { BrowserBinding } from '../accounts/sessions/browser-binding.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import { createSweeper } from '../accounts/sweeper.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import { TrustedProxies } from '../http/limits/client-address.ts'
import type { ServiceModule } from '../http/service-module.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ForwardAuthConfig } from './config.ts'
import { Gate, type Outcome } from './gate.ts'
import { HostCodes } from './host-codes.ts'
import { hostRoutes } from './host-routes.ts'
import { compileHosts, namesIdentities, resourcePathsOf, type GuardedHost } from './hosts.ts'
import { IdentityTokens } from './identity-tokens.ts'
import { Passes } from './passes.ts'
import { People } from './people.ts'
import { forwardRoute } from './routes.ts'
import { TokenLookups } from './token-lookups.ts'
import { validateForwardAuth } from './validate-config.ts'

export interface ForwardAuthParts {
  configuration: Configuration
  config: ForwardAuthConfig
  database: Database
  clock: Clock
  log: Log
  metrics: Metrics
  baseUrl: () => string
  accounts: Accounts
}

/**
 * Forward authentication: reverse proxies ask whether a request may reach an application, and tell the application who the person is.
 * @throws ConfigurationError with all errors of the configuration
 */
export function createForwardAuth(parts: ForwardAuthParts): ServiceModule {
  const { configuration, config, database, clock, log, metrics, baseUrl, accounts } = parts
  const faults = validateForwardAuth(config, configuration.trustedProxies)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const hosts = compiledOnce(config, baseUrl)
  const hostCookie = new HostCookie('postern_host', baseUrl)
  const codes = new HostCodes({ ...accounts, database, clock, record: accounts.audit.record })
  const counter = metrics.counter(
    'postern_forward_auth_total',
    'Requests that proxies asked about, by host and outcome: `allowed`, `signed-out`, `forbidden`, `refused`',
    ['host', 'outcome'],
  )
  // The labels of the most frequent outcome are looked up once for each host.
  const allowed = new Map(
    Object.keys(config.hosts ?? {}).map((host) => [host, counter.labels({ host, outcome: 'allowed' })]),
  )
  const labelled = (host: string, outcome: Outcome) =>
    (outcome === 'allowed' ? allowed.get(host) : undefined) ?? counter.labels({ host, outcome })
  const count = (host: string, outcome: Outcome): void => labelled(host, outcome).inc()
  const gate = new Gate({
    hosts,
    accounts,
    passes: new Passes({ hosts, accounts, clock, count }),
    hostCookie,
    people: new People({ database, clock, users: accounts.users, withIdentities: namesIdentities(config) }),
    tokens: new IdentityTokens({ ...accounts, database, clock, baseUrl }),
    lookups: new TokenLookups(clock, configuration.rateLimit),
    baseUrl,
    count,
  })
  return {
    routes(app) {
      forwardRoute(app, gate)
      hostRoutes(app, {
        ...accounts,
        hosts,
        resourcePaths: resourcePathsOf(config),
        codes,
        hostCookie,
        binding: new BrowserBinding(baseUrl),
        proxies: new TrustedProxies(configuration.trustedProxies),
        baseUrl,
      })
    },
    workers: [createSweeper('forward authentication', clock, log, [(now) => codes.sweep(now)])],
  }
}

/** If PORT is 0, the public address is known once the server listens. */
function compiledOnce(
  config: ForwardAuthConfig,
  baseUrl: () => string,
): () => ReadonlyMap<string, GuardedHost> {
  let compiled: { url: string; hosts: ReadonlyMap<string, GuardedHost> } | undefined
  return () => {
    const url = baseUrl()
    if (compiled?.url !== url) compiled = { url, hosts: compileHosts(config, url) }
    return compiled.hosts
  }
}
