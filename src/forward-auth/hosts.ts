import type {
  Allowed,
  ForwardAuthConfig,
  ForwardedHostConfig,
  ForwardedResourceConfig,
  ForwardedRule,
  PeopleCondition,
} from './config.ts'

/** The conditions of which one must hold; or nothing but a sign-in, or nothing at all. */
export type PeopleRule = 'everyone' | 'signed-in' | readonly Condition[]

export interface Rule extends Omit<ForwardedRule, 'allow'> {
  readonly allow: PeopleRule
}

export type Condition = { readonly [Field in keyof PeopleCondition]: ReadonlySet<string> }

/** No condition holds. */
const nobody: Rule = { allow: [] }

interface PathRules {
  readonly path: string
  readonly withBelow: boolean
  /** The first one with the method applies. */
  readonly rules: readonly Rule[]
}

/** An application that is guarded. */
export class GuardedHost {
  readonly host: string
  readonly origin: string
  /** Whether it is the service's own host, where the session cookie itself is valid. */
  readonly isOwn: boolean
  readonly hasToken: boolean
  /** Whether a rule has `methods`. */
  readonly namesMethods: boolean
  /** The audiences of access tokens for it. */
  readonly audience: readonly string[]
  /** The metadata of its API (RFC 9728), and their path; `undefined` for an application that is not an API. */
  readonly resource: { path: string; metadata: ResourceMetadata } | undefined
  readonly #rule: Rule
  readonly #paths: readonly PathRules[]
  /** The same without case, for applications that ignore case. */
  readonly #anyCase: readonly PathRules[]

  /** @param config validated; @param baseUrl of the service: all hosts have its scheme. */
  constructor(
    host: string,
    { paths = {}, token = false, resource, ...rule }: ForwardedHostConfig,
    baseUrl: string,
  ) {
    const own = new URL(baseUrl)
    this.host = host
    this.origin = `${own.protocol}//${host}`
    this.isOwn = own.host === host
    this.hasToken = token
    this.resource = resource && resourceOf(this.origin, resource, baseUrl)
    // RFC 8707 does not specify how an API without a path is written.
    this.audience = [this.origin, `${this.origin}/`, this.resource?.metadata.resource ?? this.origin]
    this.#rule = compileRule(rule)
    this.#paths = Object.entries(paths)
      .map(([pattern, value]) => {
        const withBelow = pattern.endsWith('/*')
        const path = pattern.replace(/\/\*$/, '').replace(/(.)\/$/, '$1')
        return { path, withBelow, rules: rulesOf(value).map(compileRule) }
      })
      // The longest first; of two with the same length, the one for a single path.
      .toSorted((a, b) => b.path.length - a.path.length || Number(a.withBelow) - Number(b.withBelow))
    this.#anyCase = this.#paths.map(({ path, ...rest }) => ({ path: withoutCase(path), ...rest }))
    this.namesMethods = this.#paths.some(({ rules }) => rules.some(({ methods }) => methods !== undefined))
  }

  /**
   * The rules for a request, all of which must hold. There is one, unless applications may read its path or method in several ways.
   * @param methods as `methodsOf` returns them
   */
  rulesFor(path: string, methods: readonly string[]): readonly Rule[] {
    if (this.#paths.length === 0) return [this.#rule]
    const readings = readingsOf(path)
    if (!readings) return [nobody]
    const rules = readings.flatMap((reading) => methods.flatMap((one) => this.#rulesForReading(reading, one)))
    return [...new Set(rules)]
  }

  /** As `rulesFor`, for a path that all applications read in the same way; `undefined` for others. */
  plainRuleFor(path: string, method: string): Rule | undefined {
    if (!isPlain(path)) return undefined
    const [rule, inAnyCase] = this.#rulesForReading(path, method)
    return rule === inAnyCase ? rule : undefined
  }

  /** `/Admin` is `/admin` to some applications and proxies, and another path to others. */
  #rulesForReading(path: string, method: string): readonly [rule: Rule, inAnyCase: Rule] {
    // Such as two in one header: applications may read either one.
    if (this.namesMethods && !/^[A-Z][A-Z-]*$/.test(method)) return [nobody, nobody]
    return [this.#ruleFor(path, method, this.#paths), this.#ruleFor(withoutCase(path), method, this.#anyCase)]
  }

  #ruleFor(path: string, method: string, paths: readonly PathRules[]): Rule {
    for (const each of paths) {
      if (!path.startsWith(each.path)) continue
      const rest = path.slice(each.path.length)
      // `/admin/` is `/admin` to most applications.
      if (rest !== '' && rest !== '/' && !(each.withBelow && rest.startsWith('/'))) continue
      return each.rules.find(({ methods }) => methods?.includes(method) ?? true) ?? nobody
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

type ResourceMetadata = Readonly<Record<string, string | readonly string[]>> & { readonly resource: string }

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

export const ruleFields = ['allow', 'methods', 'programs', 'cors']

/** Whether a path has a rule or a list of rules, rather than a condition. */
export function isRules(value: unknown): value is ForwardedRule | readonly ForwardedRule[] {
  const isRule = (one: unknown) => typeof one === 'object' && ruleFields.some((field) => field in (one ?? {}))
  return [value].flat().some(isRule)
}

function rulesOf(value: Allowed | ForwardedRule | readonly ForwardedRule[]) {
  return isRules(value) ? [value].flat() : [{ allow: value }]
}

function allRules(host: ForwardedHostConfig): readonly ForwardedRule[] {
  return [host, ...Object.values(host.paths ?? {}).flatMap(rulesOf)]
}

/** Whether any rule asks for identities. */
export function namesIdentities({ hosts = {} }: ForwardAuthConfig): boolean {
  return Object.values(hosts)
    .flatMap(allRules)
    .map(({ allow }) => compileAllowed(allow))
    .some((allow) => typeof allow !== 'string' && allow.some(({ identities }) => identities !== undefined))
}

/** The scopes that programs need, with the hosts that need them. */
export function programScopes({ hosts = {} }: ForwardAuthConfig): ReadonlyMap<string, readonly string[]> {
  const scopes = new Map<string, string[]>()
  for (const [name, host] of Object.entries(hosts))
    for (const scope of new Set(allRules(host).flatMap(({ programs }) => programs?.scopes ?? [])))
      scopes.set(scope, [...(scopes.get(scope) ?? []), name])
  return scopes
}

/**
 * Applications compare by small or by capital letters: the capital of the long s (U+017F) is `S`, its small letter is itself. The
 * small letter of U+0130 is `i` in Java and Go, and `i` with U+0307 in JavaScript.
 */
function withoutCase(path: string): string {
  return path.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
}

function compileRule(rule: ForwardedRule): Rule {
  return { ...rule, allow: compileAllowed(rule.allow) }
}

function compileAllowed(allowed: Allowed): PeopleRule {
  if (typeof allowed === 'string') return allowed
  const conditions = Array.isArray(allowed) ? (allowed as readonly PeopleCondition[]) : [allowed]
  return conditions.map((condition) => {
    const fields = Object.entries(condition).filter(([, values]) => values !== undefined)
    return Object.fromEntries(fields.map(([field, values]) => [field, new Set(values)]))
  })
}

/** A path that every program reads in the same way: no escapes, no empty segments, no dots at the start or the end of a segment. */
const plain = /^(?:\/(?!\.)[\w\-~!$&'()*+,=:@.]*[\w\-~!$&'()*+,=:@])*\/?$/

function isPlain(path: string): boolean {
  return plain.test(path)
}

/** The readings of one path at most, and the characters of all of them at most. Paths in use have fewer than ten readings. */
const mostReadings = 256
const mostCharacters = 131_072

/** What an application, or a proxy before it, may do to a path. Each step leaves a path as it is, or makes it simpler. */
const steps: readonly ((path: string) => string)[] = [
  (path) => path.replaceAll(/%[0-9a-f]{2}/gi, byteOf),
  // The URL class of browsers and Node decodes only these, and keeps `%2f`.
  (path) => path.replaceAll(/%2e/gi, '.'),
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replaceAll(/\/{2,}/g, '/'),
  (path) => path.replaceAll(/;[^/]*/g, ''),
  (path) => path.replaceAll(/;[^/\\]*/g, ''),
  // `new URL('//a/b', base)` takes `a` for a host.
  (path) => path.replace(/^[/\\]{2,}[^/\\]*[/\\]*/, '/'),
  resolved,
  // Programs that decode a path before they look for the query, and those whose texts end with a NUL.
  (path) => path.replace(/\?.*$/s, ''),
  (path) => path.replace(/#.*$/s, ''),
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  (path) => path.replace(/\u0000.*$/s, ''),
  // The URL class drops tabs and line breaks, other programs a NUL.
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  (path) => path.replaceAll(/[\u0000\t\n\r]/g, ''),
  // ASP, and `unescape` of JavaScript.
  (path) => path.replaceAll(/%u[0-9a-f]{4}/gi, (escaped) => bytesOf(characterOf(escaped))),
  shortest,
  // Windows takes full-width characters for those of ASCII (U+FF01 to U+FF5E, as UTF-8), and ignores dots and blanks at the end of a name.
  (path) =>
    path.replaceAll(/\u00ef(?:\u00bc[\u0081-\u00bf]|\u00bd[\u0080-\u009e])/g, (bytes) =>
      String.fromCharCode(bytes.charCodeAt(2) - (bytes[1] === '\u00bc' ? 0x60 : 0x20)),
    ),
  (path) => path.replaceAll(/(?<![ .])[ .]+(?=[/\\]|$)/g, trailing),
]

/**
 * The ways in which an application may read the path of a request. Applications differ in whether they decode escapes (`%2f`), resolve
 * `..`, merge slashes, take `\` for `/` and remove parameters (`;v=1`), in the order of these steps, and in how often they take them.
 * So a rule must allow every reading that these steps produce.
 * @param path without the query; one character for each byte, as Node reads a header
 * @returns `undefined` for a path with too many readings, which no sensible client sends
 */
export function readingsOf(path: string): readonly string[] | undefined {
  if (isPlain(path)) return [path]
  const readings = new Set([path])
  let characters = path.length
  // The loop also visits what it adds.
  for (const reading of readings)
    for (const step of steps) {
      const next = step(reading)
      if (readings.has(next)) continue
      readings.add(next)
      characters += next.length
      if (readings.size > mostReadings || characters > mostCharacters) return undefined
    }
  return [...new Set([...readings].flatMap((reading) => [reading, asUtf8(reading)]))]
}

function byteOf(escaped: string): string {
  return String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
}

function characterOf(escaped: string): string {
  return String.fromCharCode(Number.parseInt(escaped.slice(2), 16))
}

/** UTF-8, with one character for each byte. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** ASCII that is written as UTF-8 of two to four bytes (RFC 3629, section 3). Old decoders take any byte for the last one. */
function shortest(path: string): string {
  return path.replaceAll(/(?:[\u00c0\u00c1]|\u00e0[\u0080\u0081]|\u00f0\u0080[\u0080\u0081])[^]/g, (bytes) =>
    String.fromCharCode(
      ((bytes.charCodeAt(bytes.length - 2) & 1) << 6) | (bytes.charCodeAt(bytes.length - 1) & 0x3f),
    ),
  )
}

/** Dot segments stay: a name of two dots and blanks is one. */
function trailing(end: string, at: number, path: string): string {
  const isWhole = at === 0 || path[at - 1] === '/' || path[at - 1] === '\\'
  if (!isWhole) return ''
  return /^\.{0,2}/.exec(end)![0]
}

/** Bytes that are no UTF-8 become the replacement character, which no pattern contains. */
function asUtf8(bytes: string): string {
  // oxlint-disable-next-line no-control-regex -- it matches all bytes
  return /^[\u0000-\u00ff]*$/.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes
}

/**
 * Removes dot segments as RFC 3986 does (section 5.2.4): an empty segment is one that `..` removes. Programs that remove empty segments
 * first take two steps.
 */
function resolved(path: string): string {
  const [, ...all] = path.split('/')
  const segments: string[] = []
  for (const segment of all) {
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
  }
  const last = all.at(-1)
  if (last === '.' || last === '..') segments.push('')
  return `/${segments.join('/')}`
}
