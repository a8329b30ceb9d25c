import { flag, oneOf, type Environment } from './readers.ts'

/** What is configured for one identity provider: `<NAME>_CLIENT_ID` and its companions. */
export interface ProviderSettings {
  /** The lowercase label: the path's /auth/{name} and the local user's `provider`. */
  name: string
  /** Absent when only a secret is set: the configuration module may hold the id. */
  clientId?: string
  /** Absent for a public client: PKCE alone. */
  clientSecret?: string
  /** The preset that it is an instance of; without it, the preset of its own name, if there is one. */
  preset?: string
  /** As users know it. */
  label?: string
  /** A file or a data: URI. */
  icon?: string
  issuer?: string
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  jwksUrl?: string
  scope?: string
  pkce?: boolean
  tokenAuth?: TokenAuth
  /** Whether its id_token proves a new authentication that was asked for (`auth_time`). */
  provesAuthentication?: boolean
  /** More parameters of the authorization request. */
  authParams?: Readonly<Record<string, string>>
  /** What only the preset knows, such as `TENANT`: every other variable that begins with the name. */
  own?: Readonly<Record<string, string>>
}

/** How the client secret is sent (RFC 6749, section 2.3.1): as a header or in the body. */
export type TokenAuth = 'basic' | 'post'

interface Companion {
  field: Exclude<keyof ProviderSettings, 'name' | 'own'>
  /** Without one the text itself. @throws Error that says what was expected. */
  read?: (text: string) => unknown
  description: string
}

/** The settings that every provider has, by what follows `<NAME>_`. */
export const companions: Readonly<Record<string, Companion>> = {
  CLIENT_ID: {
    field: 'clientId',
    description:
      'The id that the provider gave. Turns the provider NAME on; an address or a secret of NAME without it is an error.',
  },
  CLIENT_SECRET: {
    field: 'clientSecret',
    description: 'The secret that came with it. Without one the provider is used with PKCE alone.',
  },
  PRESET: {
    field: 'preset',
    description:
      'Makes NAME another instance of a preset, beside the one of the preset’s own name: `GITHUB_WORK_PRESET=github`.',
  },
  NAME: { field: 'label', description: 'What /login calls it.' },
  ICON: {
    field: 'icon',
    description: 'What /login shows beside it: an image file, or a `data:image/…` URI.',
  },
  ISSUER: {
    field: 'issuer',
    read: httpUrl,
    description: 'OpenID Connect: everything else is discovered below this address.',
  },
  AUTH_URL: {
    field: 'authUrl',
    read: httpUrl,
    description:
      'With TOKEN_URL and PROFILE_URL: any plain OAuth 2.0 provider. Each alone replaces the address of a preset or of the discovery.',
  },
  TOKEN_URL: { field: 'tokenUrl', read: httpUrl, description: 'See AUTH_URL.' },
  PROFILE_URL: {
    field: 'profileUrl',
    read: httpUrl,
    description:
      'See AUTH_URL. A provider without a preset is read as `id`, `displayName`, `emails[0].value`, or as `sub`, `name`, `email`.',
  },
  JWKS_URL: {
    field: 'jwksUrl',
    read: httpUrl,
    description:
      'OpenID Connect: where the keys of the id_token are. With ISSUER, AUTH_URL and TOKEN_URL nothing is discovered.',
  },
  SCOPE: { field: 'scope', description: 'The scopes to ask for, separated by spaces.' },
  AUTH_PARAMS: {
    field: 'authParams',
    read: (text) => Object.fromEntries(new URLSearchParams(text)),
    description: 'More parameters of the authorization request: `prompt=consent&access_type=offline`.',
  },
  TOKEN_AUTH: {
    field: 'tokenAuth',
    read: oneOf('basic', 'post'),
    description: 'How the secret is sent to TOKEN_URL: `basic` as a header, `post` in the body.',
  },
  PKCE: {
    field: 'pkce',
    read: flag,
    description: '`off` for a provider that refuses PKCE. A preset knows for itself.',
  },
  PROVES_AUTHENTICATION: {
    field: 'provesAuthentication',
    read: flag,
    description:
      'Whether the provider can be asked to authenticate a person anew (`prompt=login`, `max_age`) and proves it (`auth_time`). Default: `on` for OpenID Connect, `off` for plain OAuth 2.0; a preset knows for itself. See `RECENT_SIGN_IN_PROOF`.',
  },
}

/** Names under /auth that are calls of their own. */
const reserved = new Set(['session', 'sessions', 'logout', 'token', 'identities', 'audit', 'providers'])

/** What speaks against a name, as the end of a sentence; `undefined` when nothing does. */
export function faultOfProviderName(name: string): string | undefined {
  if (reserved.has(name))
    return `${name} cannot be the name of a provider, since /auth/${name} is another call`
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    return `${JSON.stringify(name)} cannot be the name of a provider: use lowercase letters, digits, - and _`
  return undefined
}

/** What begins a family: whoever sets one of these means a provider, and is told what it lacks. */
const familyMember = /^([A-Z][A-Z0-9_]*)_(?:CLIENT_ID|CLIENT_SECRET|ISSUER|AUTH_URL|TOKEN_URL|PROFILE_URL)$/

/** The beginnings of the variables of identity providers: `GITHUB` of `GITHUB_CLIENT_ID`. */
export function providerPrefixes(names: Iterable<string>): Set<string> {
  return new Set(Array.from(names).flatMap((name) => familyMember.exec(name)?.[1] ?? []))
}

/** Reads every family, whole or not. Faults are added to `faults`. */
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

/** @throws Error unless it is an http or https address. */
export function httpUrl(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value
  throw new Error('expected an https address')
}
