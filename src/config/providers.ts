import type { Environment } from './environment.ts'

/** What the environment says about one identity provider: `<NAME>_CLIENT_ID` and its companions. */
export interface ProviderSettings {
  /** The lowercase label: the path's /auth/{name} and the local user's `provider`. */
  name: string
  clientId: string
  /** Absent for a public client: PKCE alone. */
  clientSecret?: string
  issuer?: string
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  scope?: string
}

const companions = {
  CLIENT_SECRET: 'clientSecret',
  ISSUER: 'issuer',
  AUTH_URL: 'authUrl',
  TOKEN_URL: 'tokenUrl',
  PROFILE_URL: 'profileUrl',
  SCOPE: 'scope',
} as const

/** Names under /auth that are calls of their own. */
const reserved = new Set(['session', 'sessions', 'logout', 'token', 'identities'])

/** Reads every `<NAME>_CLIENT_ID` family. Faults are added to `faults`. */
export function readProviders(env: Environment, faults: string[]): ProviderSettings[] {
  const found = new Map<string, ProviderSettings>()
  for (const [key, value] of Object.entries(env)) {
    const upper = /^([A-Z][A-Z0-9_]*)_CLIENT_ID$/.exec(key)?.[1]
    if (!upper || !value?.trim()) continue
    const name = upper.toLowerCase()
    if (reserved.has(name)) {
      faults.push(`${key}: ${name} cannot be the name of a provider, since /auth/${name} is another call`)
      continue
    }
    const provider: ProviderSettings = { name, clientId: value.trim() }
    for (const [suffix, field] of Object.entries(companions)) {
      const companion = env[`${upper}_${suffix}`]?.trim()
      if (!companion) continue
      provider[field] = companion
      if ((suffix === 'ISSUER' || suffix.endsWith('_URL')) && !isHttpUrl(companion)) {
        faults.push(`${upper}_${suffix} is wrong: expected an https address`)
      }
    }
    found.set(upper, provider)
  }
  for (const [key, value] of Object.entries(env)) {
    const upper = /^([A-Z][A-Z0-9_]*)_CLIENT_SECRET$/.exec(key)?.[1]
    if (upper && value?.trim() && !found.has(upper) && !env[`${upper}_CLIENT_ID`]?.trim()) {
      faults.push(`${upper}_CLIENT_ID is missing, but ${key} is set`)
    }
  }
  return [...found.values()]
}

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}
