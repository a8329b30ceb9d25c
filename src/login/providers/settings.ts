import type { ProviderSettings } from '../../config/providers.ts'
import { presets } from './presets.ts'
import type { Preset } from './preset.ts'

interface Common {
  name: string
  label: string
  clientId: string
  /** Absent for a public client: PKCE alone. */
  clientSecret: string | undefined
  scope: string
  pkce: boolean
  readProfile: Preset['readProfile']
}

/** OpenID Connect: the rest is discovered; given addresses replace discovered ones. */
export interface OpenIdProvider extends Common {
  kind: 'openid'
  issuer: string
  authUrl: string | undefined
  tokenUrl: string | undefined
  profileUrl: string | undefined
}

/** Plain OAuth 2.0 by its addresses. */
export interface OAuthProvider extends Common {
  kind: 'oauth'
  authUrl: string
  tokenUrl: string
  profileUrl: string
  /** What the provider sends as `iss`, where a preset knows it. */
  responseIssuer: string | undefined
  /** Whether an `iss` of the origin of `authUrl` is right too: the address is not the preset's own. */
  ownAddress: boolean
}

export type ResolvedProvider = OpenIdProvider | OAuthProvider

/**
 * Settings and preset as one. An issuer means OpenID Connect; three addresses without one mean plain OAuth 2.0, also
 * for a preset. A fault is a sentence for the operator.
 */
export function resolveProvider(settings: ProviderSettings): ResolvedProvider | { fault: string } {
  const { name, clientId, clientSecret } = settings
  const preset: Preset | undefined = Object.hasOwn(presets, name) ? presets[name] : undefined
  const common = {
    name,
    label: preset?.label ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '),
    clientId,
    clientSecret,
    pkce: preset?.pkce !== false,
    readProfile: preset?.readProfile,
  }
  const { authUrl, tokenUrl, profileUrl } = settings
  const issuer = settings.issuer ?? (authUrl && tokenUrl && profileUrl ? undefined : preset?.issuer)
  if (issuer !== undefined) {
    const scope = settings.scope ?? preset?.scope ?? 'openid email profile'
    return { ...common, kind: 'openid', issuer, authUrl, tokenUrl, profileUrl, scope: withOpenId(scope) }
  }
  const addresses = addressesOf(settings, preset)
  if (!addresses) {
    const upper = name.toUpperCase()
    return {
      fault: `${upper}_CLIENT_ID needs ${upper}_ISSUER, or ${upper}_AUTH_URL, ${upper}_TOKEN_URL and ${upper}_PROFILE_URL, since ${name} is no preset`,
    }
  }
  return {
    ...common,
    ...addresses,
    kind: 'oauth',
    responseIssuer: preset?.responseIssuer,
    ownAddress: authUrl !== undefined,
    scope: settings.scope ?? preset?.scope ?? 'email profile',
  }
}

function addressesOf(
  settings: ProviderSettings,
  preset: Preset | undefined,
): { authUrl: string; tokenUrl: string; profileUrl: string } | undefined {
  const authUrl = settings.authUrl ?? preset?.authUrl
  const tokenUrl = settings.tokenUrl ?? preset?.tokenUrl
  const profileUrl = settings.profileUrl ?? preset?.profileUrl
  return authUrl && tokenUrl && profileUrl ? { authUrl, tokenUrl, profileUrl } : undefined
}

/** Without `openid` a provider gives no id_token. Some people separate scopes by commas in settings. */
function withOpenId(scope: string): string {
  const scopes = scope.split(/[\s,]+/).filter((item) => item !== '')
  return scopes.includes('openid') ? scopes.join(' ') : ['openid', ...scopes].join(' ')
}
