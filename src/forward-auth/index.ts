import type { Accounts } from '../accounts/index.ts'
import { HostCookie } from '../http/responses/host-cookie.ts'
import { createSweeper } from '../runtime/worker.ts'
import { ConfigurationError } from '../config/environment.ts'
import { TrustedProxies } from '../http/limits/client-address.ts'
import type { ServiceModule, ModuleParts } from '../http/service-module.ts'
import { type ForwardAuthConfig, validateForwardAuth } from './config.ts'
import { Gate } from './gate.ts'
import { hostRoutes, sweepCodes } from './host-routes.ts'
import { compileHosts, type GuardedHost, namesIdentities, resourcePathsOf } from './hosts.ts'
import { IdentityTokens, identityHeaders } from './identity-headers.ts'
import { type Outcome, Passes } from './passes.ts'
import { People } from './people.ts'
import { TokenLookups } from './token-lookups.ts'
import { Type } from 'typebox'
import type { App } from '../http/app.ts'
import { forwardPath } from './forwarded-request.ts'

/**
 * Forward authentication: reverse proxies ask whether a request may reach an application, and tell the application who the person is.
 * @throws ConfigurationError with all errors of the configuration
 */
export function createForwardAuth(
  parts: Pick<ModuleParts, 'configuration' | 'database' | 'clock' | 'log' | 'metrics' | 'baseUrl'> & {
    config: ForwardAuthConfig
    accounts: Accounts
  },
): ServiceModule {
  const { configuration, config, database, clock, log, metrics, baseUrl, accounts } = parts
  const faults = validateForwardAuth(config, configuration.trustedProxies)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const hosts = compiledOnce(config, baseUrl)
  const hostCookie = new HostCookie('postern_host', baseUrl)
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
  const basis = { ...accounts, hosts, hostCookie, count }
  const gate = new Gate({
    ...basis,
    people: new People({ database, clock, users: accounts.users, withIdentities: namesIdentities(config) }),
    lookups: new TokenLookups(clock, configuration.rateLimit),
    passes: new Passes(basis),
    tokens: new IdentityTokens(accounts),
  })
  return {
    routes(app) {
      forwardRoute(app, gate)
      hostRoutes(app, {
        ...basis,
        resourcePaths: resourcePathsOf(config),
        proxies: new TrustedProxies(configuration.trustedProxies),
      })
    },
    workers: [createSweeper('forward authentication', clock, log, [(now) => sweepCodes(accounts, now)])],
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

const ofCors = [
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Credentials',
  'Access-Control-Expose-Headers',
  'Vary',
] as const

const Page = { content: { 'text/html': { schema: Type.String() } } }

/** GET /auth/forward, where proxies ask whether a request may pass. They may use all methods, and paths below. */
function forwardRoute(app: App, gate: Gate): void {
  app.raw.addTree({
    path: forwardPath,
    sends: {
      sometimes: ['Location', ...identityHeaders, 'Remote-Token', 'Cookie', 'Authorization', ...ofCors],
    },
    // token-lookups.ts has the limit.
    uncounted: true,
    schema: {
      tags: ['sign-in'],
      summary: 'For reverse proxies: decide if a request can reach an application',
      description:
        'The proxy passes on the method, host and path of the request as `X-Forwarded-Method`, `-Host` and `-Uri`, with its cookies and `Accept`. 204 has the headers for the application: `Remote-User`, `Remote-Email`, `Remote-Name`, `Remote-Groups`, `Remote-Client`, `Remote-Scope`, `Remote-Token`, empty unless it is configured, `Cookie` without the cookies of this service, and `Authorization` without the credential of a program. If the request has no other cookies, `Cookie` is `postern=removed`. With `?for=nginx`, a redirect is sent as 401 with `Location`. Envoy asks with the path of the request behind this one, and gets 200. A proxy may send CORS preflights in the same way: 204 with the headers for the browser.',
      response: {
        204: { description: 'The request may pass, or the answer to a preflight.', type: 'null' },
        302: { description: 'A page for a person who has to sign in first.', type: 'null' },
        401: {
          description: 'Another request without a session; for a form a page that explains it.',
          ...Page,
        },
        403: { description: 'A page for a signed-in person whom the rules do not let pass.', ...Page },
      },
    },
    answer: (call) => gate.answer(call),
  })
}
