import type {
  Allowed,
  ForwardAuthConfig,
  ForwardedHostConfig,
  ForwardedResourceConfig,
  PeopleCondition,
} from './config.ts'
import { isPlain, readingsOf } from './path-readings.ts'

/** The conditions of which one must hold; or nothing but a sign-in, or nothing at all. */
export type Rule = 'everyone' | 'signed-in' | readonly Condition[]

export interface Condition {
  readonly roles?: ReadonlySet<string>
  readonly emailDomains?: ReadonlySet<string>
  readonly identities?: ReadonlySet<string>
  readonly providers?: ReadonlySet<string>
  readonly groups?: ReadonlySet<string>
}

/** No condition holds. */
const nobody: Rule = []

interface PathRule {
  readonly path: string
  readonly withBelow: boolean
  readonly rule: Rule
}

/** An application that is guarded. */
export class GuardedHost {
  readonly host: string
  readonly origin: string
  /** Whether it is the service's own host, where the session cookie itself is valid. */
  readonly isOwn: boolean
  readonly hasToken: boolean
  /** The metadata of its API (RFC 9728), and their path; `undefined` for an application that is not an API. */
  readonly resource: { path: string; metadata: ResourceMetadata } | undefined
  readonly #rule: Rule
  readonly #paths: readonly PathRule[]
  /** The same without case, for applications that ignore case. */
  readonly #anyCase: readonly PathRule[]

  /** @param config validated; @param baseUrl of the service: all hosts have its scheme. */
  constructor(
    host: string,
    { allow, paths = {}, token = false, resource }: ForwardedHostConfig,
    baseUrl: string,
  ) {
    const own = new URL(baseUrl)
    this.host = host
    this.origin = `${own.protocol}//${host}`
    this.isOwn = own.host === host
    this.hasToken = token
    this.resource = resource && resourceOf(this.origin, resource, baseUrl)
    this.#rule = compileRule(allow)
    this.#paths = Object.entries(paths)
      .map(([pattern, allowed]) => {
        const withBelow = pattern.endsWith('/*')
        const path = pattern.replace(/\/\*$/, '').replace(/(.)\/$/, '$1')
        return { path, withBelow, rule: compileRule(allowed) }
      })
      // The longest first; of two with the same length, the one for a single path.
      .toSorted((a, b) => b.path.length - a.path.length || Number(a.withBelow) - Number(b.withBelow))
    this.#anyCase = this.#paths.map(({ path, ...rest }) => ({ path: withoutCase(path), ...rest }))
  }

  /** The rules of which each must hold for a path: one, unless applications may read the path in several ways. */
  rulesFor(path: string): readonly Rule[] {
    if (this.#paths.length === 0) return [this.#rule]
    const readings = readingsOf(path)
    if (!readings) return [nobody]
    return [...new Set(readings.flatMap((reading) => this.#rulesForReading(reading)))]
  }

  /** As `rulesFor`, for a path that all applications read in the same way; `undefined` for others. */
  plainRuleFor(path: string): Rule | undefined {
    if (!isPlain(path)) return undefined
    const [rule, inAnyCase] = this.#rulesForReading(path)
    return rule === inAnyCase ? rule : undefined
  }

  /** `/Admin` is `/admin` to some applications and proxies, and another path to others. */
  #rulesForReading(path: string): readonly [rule: Rule, inAnyCase: Rule] {
    return [this.#ruleFor(path, this.#paths), this.#ruleFor(withoutCase(path), this.#anyCase)]
  }

  #ruleFor(path: string, paths: readonly PathRule[]): Rule {
    for (const each of paths) {
      if (!path.startsWith(each.path)) continue
      const rest = path.slice(each.path.length)
      // `/admin/` is `/admin` to most applications.
      if (rest === '' || rest === '/' || (each.withBelow && rest.startsWith('/'))) return each.rule
    }
    return this.#rule
  }
}

/** The paths of all metadata of APIs. */
export function resourcePathsOf({ hosts = {} }: ForwardAuthConfig): string[] {
  return Object.values(hosts).flatMap(({ resource }) => (resource ? metadataPath(resource) : []))
}

/** RFC 9728, section 3.1. */
function metadataPath({ path = '/' }: ForwardedResourceConfig): string {
  return `/.well-known/oauth-protected-resource${path === '/' ? '' : path}`
}

type ResourceMetadata = Readonly<Record<string, string | readonly string[]>>

/** RFC 9728, section 2. */
function resourceOf(origin: string, resource: ForwardedResourceConfig, baseUrl: string) {
  const { path = '/', scopes, name } = resource
  return {
    path: metadataPath(resource),
    metadata: {
      resource: origin + (path === '/' ? '' : path),
      authorization_servers: [baseUrl],
      bearer_methods_supported: ['header'],
      ...(scopes && { scopes_supported: scopes }),
      ...(name !== undefined && { resource_name: name }),
    },
  }
}

/** All guarded hosts, by their names. */
export function compileHosts(config: ForwardAuthConfig, baseUrl: string): ReadonlyMap<string, GuardedHost> {
  const hosts = Object.entries(config.hosts ?? {})
  return new Map(hosts.map(([host, value]) => [host, new GuardedHost(host, value, baseUrl)]))
}

/** Whether any rule asks for identities. */
export function namesIdentities({ hosts = {} }: ForwardAuthConfig): boolean {
  const rules = Object.values(hosts).flatMap(({ allow, paths = {} }) => [allow].concat(Object.values(paths)))
  return rules
    .map((rule) => compileRule(rule))
    .some((rule) => typeof rule !== 'string' && rule.some(({ identities }) => identities !== undefined))
}

/**
 * Applications compare by small or by capital letters: the capital of the long s (U+017F) is `S`, its small letter is itself. The
 * small letter of U+0130 is `i` in Java and Go, and `i` with U+0307 in JavaScript.
 */
function withoutCase(path: string): string {
  return path.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
}

function compileRule(allowed: Allowed): Rule {
  if (typeof allowed === 'string') return allowed
  const conditions = Array.isArray(allowed) ? (allowed as readonly PeopleCondition[]) : [allowed]
  return conditions.map((condition) => {
    const fields = Object.entries(condition).filter(([, values]) => values !== undefined)
    return Object.fromEntries(fields.map(([field, values]) => [field, new Set(values)]))
  })
}
