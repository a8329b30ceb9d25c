import { isObject } from '../json/exact.ts'
import { GuardedHost, isRules, ruleFields } from './hosts.ts'

/** A condition on the signed-in person. Every field that is given must hold; of its values, one is enough. */
export interface PeopleCondition {
  readonly roles?: readonly ('user' | 'admin')[]
  /** Domains of the e-mail address, which counts only if the provider verified it. Subdomains are not included. */
  readonly emailDomains?: readonly string[]
  /** `provider:id`, as in ADMIN_IDENTITIES. */
  readonly identities?: readonly string[]
  /** Providers of the sign-in. With `groups`: only the groups of these providers count. */
  readonly providers?: readonly string[]
  /** Groups that the provider of the sign-in named. */
  readonly groups?: readonly string[]
}

/**
 * Who may use a path. `everyone`: also people who are not signed in. `signed-in`: every user. Otherwise a condition, or several of
 * which one must hold.
 */
export type Allowed = 'everyone' | 'signed-in' | PeopleCondition | readonly PeopleCondition[]

/** Who may use the host or path. */
export interface ForwardedRule {
  readonly allow: Allowed
  /** Default: all. `GET` includes `HEAD`. Other methods are rejected, unless another rule of the path has them. */
  readonly methods?: readonly string[]
  /** Also accepts access tokens and API keys with all of these scopes. `allow` must match the user of an access token, too. */
  readonly programs?: { readonly scopes: readonly string[] }
  /**
   * For pages of other origins. `application`: preflights reach the application, without a user. `origins`, such as
   * `https://app.example.com` or `*`: this service answers their preflights, and rejects others. `credentials`: requests may have cookies.
   */
  readonly cors?: 'application' | { readonly origins: readonly string[]; readonly credentials?: boolean }
}

/** An application behind the proxy. */
export interface ForwardedHostConfig extends Omit<ForwardedRule, 'methods'> {
  /**
   * Exceptions: `/health` is one path, `/admin/*` a path and everything below it. The longest pattern that matches counts, instead
   * of the host's rule. In a list of rules, the first one with the request's method applies.
   */
  readonly paths?: Readonly<Record<string, Allowed | ForwardedRule | readonly ForwardedRule[]>>
  /** Whether the application gets a signed token of the person in `Remote-Token`. Default false. */
  readonly token?: boolean
  /** Serves the metadata by which the clients of an API find this service (RFC 9728). */
  readonly resource?: ForwardedResourceConfig
}

/** An application that is an API, such as an MCP server. */
export interface ForwardedResourceConfig {
  /** Its path at the host. The path's rule must have `programs`, or allow everyone. Host and path are the audience of its tokens. Default `/`. */
  readonly path?: string
  /** The scopes that it supports. */
  readonly scopes?: readonly string[]
  /** Its display name. */
  readonly name?: string
}

/** The `forwardAuth` part of the configuration module. */
export interface ForwardAuthConfig {
  /** By host, with the port if it is not the default one. Requests for other hosts are refused. */
  readonly hosts?: Readonly<Record<string, ForwardedHostConfig>>
}

/** Returns everything that is wrong with the configuration, as messages for the operator. */
export function validateForwardAuth(config: ForwardAuthConfig, trustedProxies: readonly string[]): string[] {
  const name = 'forwardAuth'
  if (!isObject(config)) return [`${name} must be an object with hosts`]
  const faults = unknownFields(name, config, ['hosts'])
  const hosts: unknown = config.hosts ?? {}
  if (!isObject(hosts)) return [...faults, `${name}.hosts must be an object: a host, and who may use it`]
  for (const [host, value] of Object.entries(hosts)) faults.push(...faultsOfHost(host, value))
  if (Object.keys(hosts).length > 0 && trustedProxies.length === 0)
    faults.push(
      `${name} needs TRUSTED_PROXIES, the addresses of the proxies that ask: the host and path of a request are believed only from them`,
    )
  return faults
}

function faultsOfHost(host: string, value: unknown): string[] {
  const name = `forwardAuth.hosts[${JSON.stringify(host)}]`
  if (!isHost(host))
    return [
      `${name}: write a host in lowercase, with the port if it is not the default one, and without scheme, path or *`,
    ]
  if (!isObject(value)) return [`${name} must be an object with allow`]
  const { paths = {}, token, resource } = value
  const faults = faultsOfRule(name, value, ['allow', 'paths', 'token', 'resource', 'programs', 'cors'])
  if (token !== undefined && typeof token !== 'boolean') faults.push(`${name}.token must be true or false`)
  if (!isObject(paths)) return [...faults, `${name}.paths must be an object: a path, and who may use it`]
  for (const [path, rules] of Object.entries(paths)) {
    const place = `${name}.paths[${JSON.stringify(path)}]`
    if (!isPathPattern(path))
      faults.push(
        `${place}: write a path such as /health, or /admin/* for everything below; no query, no %, no other *`,
      )
    if (!isRules(rules)) faults.push(...faultsOfAllowed(place, rules))
    else for (const rule of [rules].flat()) faults.push(...faultsOfRule(place, rule))
  }
  if (resource !== undefined && faults.length === 0)
    faults.push(...faultsOfResource(`${name}.resource`, resource, value as unknown as ForwardedHostConfig))
  return faults
}

/** @param host valid but for its resource */
function faultsOfResource(name: string, resource: unknown, host: ForwardedHostConfig): string[] {
  if (!isObject(resource)) return [`${name} must be an object with path, scopes, name`]
  const { path = '/', scopes = [], name: title = '' } = resource
  const faults = unknownFields(name, resource, ['path', 'scopes', 'name'])
  if (typeof path !== 'string' || !isPathPattern(path) || path.includes('*'))
    return [...faults, `${name}.path must be a path such as /mcp`]
  if (!Array.isArray(scopes) || scopes.some((scope) => typeof scope !== 'string' || !/^\S+$/.test(scope)))
    faults.push(`${name}.scopes must be a list of scopes`)
  if (typeof title !== 'string') faults.push(`${name}.name must be a text`)
  const { resource: _resource, ...rules } = host
  const guarded = new GuardedHost('host', rules, 'http://host')
  const reaching = ['GET', 'POST'].map((method) => guarded.plainRuleFor(path, method))
  if (!reaching.some((rule) => rule && (rule.allow === 'everyone' || rule.programs)))
    faults.push(
      `${name}: clients with access tokens must reach ${path}: write programs for it, or allow it to 'everyone' in paths if the application verifies the tokens`,
    )
  return faults
}

function faultsOfRule(name: string, rule: unknown, known: readonly string[] = ruleFields): string[] {
  if (!isObject(rule)) return [`${name} must be a list of rules with allow`]
  const { allow, methods, programs, cors } = rule
  const faults = unknownFields(name, rule, known)
  if (allow === undefined) faults.push(`${name}.allow is missing: write who may use it, at least 'signed-in'`)
  else faults.push(...faultsOfAllowed(`${name}.allow`, allow))
  if (methods !== undefined && !isTexts(methods, /^(?!HEAD$)[A-Z][A-Z-]*$/))
    faults.push(`${name}.methods must be a list such as ['GET', 'POST']; GET includes HEAD`)
  if (programs !== undefined && !(isObject(programs) && isTexts(programs['scopes'], scopeForm)))
    faults.push(`${name}.programs must be an object with scopes, a list that is not empty`)
  else if (programs !== undefined && allow === 'everyone')
    faults.push(`${name}.programs has no effect, because allow lets everyone pass: write 'signed-in'`)
  if (cors !== undefined && cors !== 'application') faults.push(...faultsOfCors(`${name}.cors`, cors))
  return faults
}

/** RFC 6749, section 3.3. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+$/

function faultsOfCors(name: string, cors: unknown): string[] {
  if (
    !isObject(cors) ||
    !isTexts(cors['origins'], /^(?:\*|https?:[^*]+)$/) ||
    !cors['origins'].every(isOrigin)
  )
    return [`${name} must be 'application', or have origins such as https://app.example.com or *`]
  if (cors['credentials'] === true && cors['origins'].includes('*'))
    return [`${name}.credentials needs origins without *: any page could act as the user`]
  return unknownFields(name, cors, ['origins', 'credentials'])
}

function isOrigin(text: string): boolean {
  return text === '*' || URL.parse(text)?.origin === text
}

/** Whether it is a list of texts that is not empty. */
function isTexts(value: unknown, form = /^/): value is string[] {
  const isText = (one: unknown): boolean => typeof one === 'string' && form.test(one)
  return Array.isArray(value) && value.length > 0 && value.every(isText)
}

/** The form of the values of each field of a condition, and what is said about others. */
const conditions: Readonly<Record<string, readonly [form: RegExp, fault: string]>> = {
  roles: [/^(?:user|admin)$/, 'is no role: they are user and admin'],
  emailDomains: [
    /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/,
    'is no domain: write it in lowercase and without @, such as example.com',
  ],
  identities: [/^[a-z][a-z0-9_-]*:.+$/, 'is no identity: write provider:id, such as google:1174'],
  providers: [/^[a-z][a-z0-9_-]*$/, 'is no name of a provider, such as google'],
  groups: [/\S/, 'is empty'],
}
const conditionFields = Object.keys(conditions)

function faultsOfAllowed(name: string, allowed: unknown): string[] {
  if (allowed === 'everyone' || allowed === 'signed-in') return []
  const conditions: unknown[] = Array.isArray(allowed) ? allowed : [allowed]
  if (conditions.length === 0) return [`${name} is empty: no user could use it`]
  return conditions.flatMap((condition) =>
    isObject(condition)
      ? faultsOfCondition(name, condition)
      : [`${name} must be 'everyone', 'signed-in', or an object with ${conditionFields.join(', ')}`],
  )
}

function faultsOfCondition(name: string, condition: Record<string, unknown>): string[] {
  const faults = unknownFields(name, condition, conditionFields)
  const given = Object.entries(condition).filter(
    ([field, values]) => conditionFields.includes(field) && values !== undefined,
  )
  if (given.length === 0 && faults.length === 0)
    faults.push(`${name} has no condition: write 'signed-in' to allow every user`)
  for (const [field, values] of given) {
    const [form, fault] = conditions[field]!
    if (!isTexts(values)) faults.push(`${name}.${field} must be a list of texts that is not empty`)
    else
      for (const value of values)
        if (!form.test(value)) faults.push(`${name}.${field}: ${JSON.stringify(value)} ${fault}`)
  }
  return faults
}

function unknownFields(name: string, value: Record<string, unknown>, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((field) => !known.includes(field))
    .map((field) => `${name}.${field} is unknown: the fields are ${known.join(', ')}`)
}

function isHost(text: string): boolean {
  if (!/^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.test(text)) return false
  // A default port would never match.
  return URL.parse(`http://${text}`)?.host === text && !text.endsWith(':443')
}

function isPathPattern(text: string): boolean {
  if (!/^\/[^\s?#%*\\;]*(?:(?<=\/)\*)?$/.test(text)) return false
  return !text.includes('//') && !/\/\.\.?(?:\/|$)/.test(text)
}
