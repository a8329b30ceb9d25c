import { flag, list, oneOf, type Environment } from './readers.ts'

/** The settings of one identity provider: `<NAME>_CLIENT_ID` and the other variables with its prefix. */
export interface ProviderSettings {
  /** In lower case: the name in /auth/{name} and the user's `provider`. */
  name: string
  /** Absent if only a secret is set; the configuration module may then contain the id. */
  clientId?: string
  /** Absent for a public client, which uses PKCE alone. */
  clientSecret?: string
  /** The preset. Default: the one with the provider's name, if it exists. */
  preset?: string
  /** The label on /login. */
  label?: string
  /** The icon on /login: an image file or a `data:image/…` URI. */
  icon?: string
  issuer?: string
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  jwksUrl?: string
  /** Separated by spaces. */
  scope?: string
  /** Additional parameters of the authorization request. */
  authParams?: Readonly<Record<string, string>>
  tokenAuth?: TokenAuth
  pkce?: boolean
  /** Whether it reauthenticates a person on request and proves it in the id_token (`auth_time`). */
  provesAuthentication?: boolean
  /**
   * The claim with the person's groups: `groups`, or a path such as `realm_access.roles`. Default: `groups` with `roles`
   * or `allowedGroups`, otherwise groups are not read. Of the groups of GitHub and GitLab, only those that these two name are stored,
   * unless this is `groups`.
   */
  groupsClaim?: string
  /** The groups whose members are admins; they replace those of `roles`. */
  adminGroups?: readonly string[]
  /** The roles that the groups give: `{ admin: ['operators'] }`. They are evaluated at each sign-in. */
  roles?: GroupRoles
  /** Only members of one of these groups may sign in. */
  allowedGroups?: readonly string[]
  /**
   * Only people with an e-mail address of one of these domains may sign in, if the provider asserts that it is verified:
   * `example.com`, or `*.example.com` for all domains below it.
   */
  allowedEmailDomains?: readonly string[]
  /**
   * The client ids for which the provider issues id_tokens to native apps. Enables `POST /auth/{provider}/token`, which accepts these
   * id_tokens. Default: none.
   */
  audiences?: readonly string[]
  /** Whether each sign-in updates the e-mail address and name of the user. Default: `login.updateProfile`. */
  updateProfile?: boolean
  /** Whether a sign-out of an application goes on to the provider's own sign-out. Default false. */
  endSession?: boolean
  /** Settings that only the preset knows, such as `TENANT`: all other variables with the prefix. */
  own?: Readonly<Record<string, string>>
}

/** The roles that a provider's groups give. */
interface GroupRoles {
  /** The groups whose members are admins. */
  admin?: readonly string[] | undefined
  /** Whether a sign-in without such a group also ends a role that an admin assigned. Default false. */
  exclusive?: boolean | undefined
}

/** How the client secret is sent (RFC 6749, section 2.3.1): as a header or in the body. */
export type TokenAuth = 'basic' | 'post'

interface Companion {
  field: Exclude<keyof ProviderSettings, 'name' | 'own'>
  /** Default: the text itself. @throws Error that says what was expected. */
  read?: (text: string) => unknown
  description: string
}

/** The settings that every provider has, by the rest of their names after `<NAME>_`. */
export const companions: Readonly<Record<string, Companion>> = {
  CLIENT_ID: {
    field: 'clientId',
    description:
      'The client ID from the provider. It enables the provider NAME. Other variables of NAME without it are an error.',
  },
  CLIENT_SECRET: {
    field: 'clientSecret',
    description: 'The client secret. Without one, Postern uses PKCE alone.',
  },
  PRESET: {
    field: 'preset',
    description: 'Makes NAME another instance of a preset: `GITHUB_WORK_PRESET=github`.',
  },
  NAME: { field: 'label', description: 'Its name on /login.' },
  ICON: {
    field: 'icon',
    description: 'Its icon on /login: an image file, or a `data:image/…` URI.',
  },
  ISSUER: {
    field: 'issuer',
    read: httpUrl,
    description: 'OpenID Connect: the issuer, from which all other URLs are discovered.',
  },
  AUTH_URL: {
    field: 'authUrl',
    read: httpUrl,
    description:
      'With TOKEN_URL and PROFILE_URL: any plain OAuth 2.0 provider. A single one replaces the URL from a preset or from discovery.',
  },
  TOKEN_URL: { field: 'tokenUrl', read: httpUrl, description: 'See AUTH_URL.' },
  PROFILE_URL: {
    field: 'profileUrl',
    read: httpUrl,
    description:
      'See AUTH_URL. The profile of a provider without a preset is read as `id`, `displayName`, `emails[0].value`, or as `sub`, `name`, `email`.',
  },
  JWKS_URL: {
    field: 'jwksUrl',
    read: httpUrl,
    description:
      'OpenID Connect: the URL of the id_token keys. With ISSUER, AUTH_URL and TOKEN_URL, there is no discovery.',
  },
  SCOPE: { field: 'scope', description: 'The scopes to request, separated by spaces.' },
  AUTH_PARAMS: {
    field: 'authParams',
    read: (text) => Object.fromEntries(new URLSearchParams(text)),
    description: 'Additional parameters of the authorization request: `prompt=consent&access_type=offline`.',
  },
  TOKEN_AUTH: {
    field: 'tokenAuth',
    read: oneOf('basic', 'post'),
    description: 'How the secret is sent to TOKEN_URL: `basic` in a header, `post` in the body.',
  },
  PKCE: {
    field: 'pkce',
    read: flag,
    description: '`off` for a provider that rejects PKCE. Presets set this themselves.',
  },
  PROVES_AUTHENTICATION: {
    field: 'provesAuthentication',
    read: flag,
    description:
      '`on` if the provider authenticates a user again on request (`prompt=login`, `max_age`) and proves it (`auth_time`). Default: `on` for OpenID Connect, `off` for plain OAuth 2.0; presets set it. See `RECENT_SIGN_IN_PROOF`.',
  },
  GROUPS_CLAIM: {
    field: 'groupsClaim',
    description:
      'The claim with the user’s groups, in the id_token, the userinfo or the profile: `groups`, or a path such as `realm_access.roles`. Default: `groups` with ADMIN_GROUPS or ALLOWED_GROUPS; otherwise groups are not read. From GitHub and GitLab, only the groups in these two are stored, unless this is set to `groups`.',
  },
  ADMIN_GROUPS: {
    field: 'adminGroups',
    read: list,
    description: 'The groups whose members are admins, comma-separated. Evaluated at each sign-in.',
  },
  ALLOWED_GROUPS: {
    field: 'allowedGroups',
    read: list,
    description:
      'Limits sign-in to members of these groups, comma-separated: organizations (`acme`) and teams (`acme/operators`) of GitHub, groups of GitLab, or those of GROUPS_CLAIM.',
  },
  ALLOWED_EMAIL_DOMAINS: {
    field: 'allowedEmailDomains',
    read: list,
    description:
      'Limits sign-in to users with a verified e-mail address in these domains, comma-separated: `example.com,*.example.org`.',
  },
  AUDIENCES: {
    field: 'audiences',
    read: list,
    description:
      'Enables `POST /auth/{provider}/token`: the client IDs for which the provider issues id_tokens to your native apps, comma-separated. See the guide for native apps.',
  },
  UPDATE_PROFILE: {
    field: 'updateProfile',
    read: flag,
    description:
      '`on`: each sign-in updates the user’s e-mail address and name. `off`: only empty values are filled in. Default: `login.updateProfile` of the configuration module, or `off`.',
  },
  END_SESSION: {
    field: 'endSession',
    read: flag,
    description:
      '`on`: a sign-out that an app starts at `/oauth2/end-session` continues to the provider, if its discovery document has an `end_session_endpoint`. Default: `off`.',
  },
}

/**
 * Returns the fault of a provider's name as a message, or `undefined` if the name is valid. Whether it is the name of another
 * route below /auth is checked by login/config.ts.
 */
export function faultOfProviderName(name: string): string | undefined {
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    return `${JSON.stringify(name)} cannot be the name of a provider: use lowercase letters, digits, - and _`
  return undefined
}

/** Variables that define a provider. One of them is enough: readProviders then reports those that are missing. */
const familyMember = /^([A-Z][A-Z0-9_]*)_(?:CLIENT_ID|CLIENT_SECRET|ISSUER|AUTH_URL|TOKEN_URL|PROFILE_URL)$/

/** The prefixes of the variables of identity providers: `GITHUB` of `GITHUB_CLIENT_ID`. */
export function providerPrefixes(names: Iterable<string>): Set<string> {
  return new Set(Array.from(names).flatMap((name) => familyMember.exec(name)?.[1] ?? []))
}

/** Reads all providers, including incomplete ones. Appends faults to `faults`. */
export function readProviders(env: Environment, faults: string[]): ProviderSettings[] {
  const families = new Map<string, string>()
  for (const [key, value] of Object.entries(env)) {
    const upper = familyMember.exec(key)?.[1]
    if (upper && value?.trim() && !families.has(upper)) families.set(upper, key)
  }
  const providers: ProviderSettings[] = []
  for (const [upper, key] of families) {
    const name = upper.toLowerCase()
    const fault = faultOfProviderName(name)
    if (fault !== undefined) faults.push(`${key}: ${fault}`)
    else providers.push(readFamily(env, upper, faults))
  }
  return providers
}

function readFamily(env: Environment, upper: string, faults: string[]): ProviderSettings {
  const fields: Record<string, unknown> = {}
  const own: Record<string, string> = {}
  for (const [key, given] of Object.entries(env)) {
    const value = given?.trim()
    if (!value || !key.startsWith(`${upper}_`)) continue
    const suffix = key.slice(upper.length + 1)
    const companion = Object.hasOwn(companions, suffix) ? companions[suffix] : undefined
    if (!companion) {
      own[suffix] = value
      continue
    }
    try {
      fields[companion.field] = companion.read ? companion.read(value) : value
    } catch (error) {
      faults.push(`${key} is wrong: ${(error as Error).message}`)
    }
  }
  return {
    ...fields,
    name: upper.toLowerCase(),
    ...(Object.keys(own).length > 0 && { own }),
  }
}

/** @throws Error unless the value is an http or https address. */
export function httpUrl(value: string): string {
  if (/^https?:$/.test(URL.parse(value)?.protocol ?? '')) return value
  throw new Error('expected an https address')
}
