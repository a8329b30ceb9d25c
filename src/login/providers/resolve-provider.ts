import type { ProviderSettings } from '../../config/providers.ts'
import { protectedParametersIn, unusableResponseMode } from './authorization-parameters.ts'
import { letterIcon, readIcon } from './icon.ts'
import { resolveGroups } from './resolve-groups.ts'
import { readPresetSettings, type PresetSettingValues } from './preset-settings.ts'
import type { Endpoints, Preset, Quirks } from './preset.ts'
import { presets } from './presets.ts'
import type { ProviderBasics, ResolvedProvider } from './resolved-provider.ts'

/**
 * Merges settings with their preset. An issuer means OpenID Connect; three endpoints without an issuer mean plain OAuth 2.0,
 * also with a preset. The quirks of a preset apply only with its own protocol. Faults are messages for the operator.
 */
export function resolveProvider(settings: ProviderSettings): ResolvedProvider | { faults: string[] } {
  const prefix = prefixOf(settings.name)
  const presetName = settings.preset ?? settings.name
  const preset = Object.hasOwn(presets, presetName) ? presets[presetName] : undefined
  if (!preset && settings.preset !== undefined) {
    const known = Object.keys(presets).join(', ')
    return {
      faults: [`${prefix}PRESET: there is no preset ${JSON.stringify(presetName)}; use one of ${known}`],
    }
  }
  const values = readPresetSettings(preset, settings.own ?? {}, prefix)
  const known = preset ? knownEndpoints(preset, values) : {}
  const issuer = issuerOf(settings, known)
  const kind = issuer === undefined ? 'oauth' : 'openid'
  const { faults } = values
  const resolving = { settings, preset, values, prefix, faults, isPresetSettingWrong: faults.length > 0 }
  const basics = resolveBasics(resolving, preset && kindOf(preset) === kind ? preset : {}, kind === 'openid')
  const provider =
    issuer === undefined
      ? withEndpoints(resolving, basics, known)
      : withIssuer(resolving, basics, known, issuer)
  return provider === undefined || values.faults.length > 0 ? { faults: values.faults } : provider
}

interface Resolving {
  settings: ProviderSettings
  preset: Preset | undefined
  values: PresetSettingValues
  /** The prefix of the variables: `<NAME>_`. */
  prefix: string
  faults: string[]
  /** Whether one of the preset's own settings is invalid. */
  isPresetSettingWrong: boolean
}

/** The prefix of a provider's variables. */
export function prefixOf(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_`
}

function kindOf(preset: Preset): 'oauth' | 'openid' {
  return preset.endpoints((setting) => setting).issuer === undefined ? 'oauth' : 'openid'
}

function issuerOf(
  { issuer, authUrl, tokenUrl, profileUrl, jwksUrl }: ProviderSettings,
  known: Endpoints,
): string | undefined {
  const plain = authUrl !== undefined && tokenUrl !== undefined && profileUrl !== undefined
  return issuer ?? (plain && jwksUrl === undefined ? undefined : known.issuer)
}

/** The preset's endpoints; empty if a setting that they need is missing. */
function knownEndpoints(preset: Preset, { presetSetting, missing }: PresetSettingValues): Endpoints {
  const endpoints = preset.endpoints(presetSetting)
  return neededOf(preset, missing).length === 0 ? endpoints : {}
}

function neededOf(preset: Preset, missing: ReadonlySet<string>): string[] {
  return [...missing].filter((key) => preset.settings?.[key]?.optional !== true)
}

function withIssuer(
  { settings, preset }: Resolving,
  basics: ProviderBasics,
  known: Endpoints,
  issuer: string,
): ResolvedProvider {
  // The preset's endpoints belong to the preset's issuer.
  const presetEndpoints = settings.issuer === undefined ? known : {}
  const scope = withScopes(settings.scope ?? preset?.scope ?? 'openid email profile', basics.scope)
  const { authUrl, tokenUrl, profileUrl, jwksUrl } = settings
  return {
    ...basics,
    kind: 'openid',
    issuer,
    authUrl: authUrl ?? presetEndpoints.authUrl,
    tokenUrl: tokenUrl ?? presetEndpoints.tokenUrl,
    profileUrl: profileUrl ?? presetEndpoints.profileUrl,
    jwksUrl: jwksUrl ?? presetEndpoints.jwksUrl,
    // A preset without `openid` in its scope gets an id_token without it.
    scope: preset !== undefined && !/\bopenid\b/.test(preset.scope) ? scope : withOpenId(scope),
  }
}

function withEndpoints(
  { settings, preset, values, prefix, faults, isPresetSettingWrong }: Resolving,
  basics: ProviderBasics,
  known: Endpoints,
): ResolvedProvider | undefined {
  const authUrl = settings.authUrl ?? known.authUrl
  const tokenUrl = settings.tokenUrl ?? known.tokenUrl
  const profileUrl = settings.profileUrl ?? known.profileUrl
  if (authUrl === undefined || tokenUrl === undefined || profileUrl === undefined) {
    // The fault of the preset's setting is already in the list.
    if (isPresetSettingWrong) return undefined
    const lacking = Object.entries({ AUTH_URL: authUrl, TOKEN_URL: tokenUrl, PROFILE_URL: profileUrl })
      .filter(([, address]) => address === undefined)
      .map(([key]) => prefix + key)
    if (lacking.length < 3) {
      faults.push(
        `${lacking.join(' and ')} ${lacking.length === 1 ? 'is' : 'are'} missing, or ${prefix}ISSUER`,
      )
      return undefined
    }
    const needed = preset
      ? `${neededOf(preset, values.missing)
          .map((key) => prefix + key)
          .join(' and ')}, or `
      : ''
    const addresses = `${prefix}ISSUER, or ${prefix}AUTH_URL, ${prefix}TOKEN_URL and ${prefix}PROFILE_URL`
    const reason = preset ? '' : `, since ${settings.name} is no preset`
    faults.push(`${prefix}CLIENT_ID needs ${needed}${addresses}${reason}`)
    return undefined
  }
  return {
    ...basics,
    kind: 'oauth',
    authUrl,
    tokenUrl,
    profileUrl,
    expectedResponseIssuer: known.expectedResponseIssuer,
    identityNamespace: identityNamespaceOf(settings, known, { authUrl, tokenUrl, profileUrl }),
    hasConfiguredAuthUrl: settings.authUrl !== undefined || known.expectedResponseIssuer === undefined,
    scope: withScopes(settings.scope ?? preset?.scope ?? 'email profile', basics.scope),
  }
}

/**
 * Plain OAuth 2.0 has no verified issuer. A preset has a known one; with configured endpoints, the origins of the token and
 * profile endpoints take its place.
 */
function identityNamespaceOf(
  settings: ProviderSettings,
  known: Endpoints,
  used: { authUrl: string; tokenUrl: string; profileUrl: string },
): string {
  if (settings.tokenUrl === undefined && settings.profileUrl === undefined)
    return known.expectedResponseIssuer ?? new URL(known.authUrl ?? used.authUrl).origin
  return [...new Set([used.tokenUrl, used.profileUrl].map((address) => new URL(address).origin))].join(' ')
}

function resolveBasics(resolving: Resolving, quirks: Quirks, openid: boolean): ProviderBasics {
  const { settings, preset, values, prefix, faults } = resolving
  const { name, clientId, clientSecret } = settings
  const pkce = settings.pkce ?? quirks.pkce !== false
  if (clientId === undefined) faults.push(`${prefix}CLIENT_ID is missing, though ${name} is configured`)
  if (clientSecret === undefined && quirks.signedSecret) {
    faults.push(...validateSignedSecret(quirks.signedSecret, values, prefix))
  } else if (clientSecret === undefined && !pkce) {
    faults.push(`${prefix}CLIENT_SECRET is missing; ${name} needs it without PKCE`)
  }
  for (const parameter of protectedParametersIn(settings)) {
    faults.push(`${prefix}AUTH_PARAMS or ${prefix}AUTH_URL: ${parameter} belongs to the sign-in itself`)
  }
  const mode = unusableResponseMode(settings)
  if (mode !== undefined)
    faults.push(
      `${prefix}AUTH_PARAMS or ${prefix}AUTH_URL: response_mode=${mode} cannot be used; it may be query or form_post`,
    )
  const label = settings.label ?? (settings.preset === undefined ? preset?.label : undefined) ?? titled(name)
  const { groupScope, ...access } = resolveGroups(settings, quirks, prefix, faults)
  let icon = letterIcon(label, preset?.colour ?? '#5d6763')
  try {
    if (settings.icon !== undefined) icon = readIcon(settings.icon)
  } catch (error) {
    faults.push(`${prefix}ICON is wrong: ${(error as Error).message}`)
  }
  return {
    name,
    label,
    icon,
    clientId: clientId ?? '',
    clientSecret,
    scope: groupScope,
    pkce,
    nonce: quirks.nonce !== false,
    tokenAuth: settings.tokenAuth ?? quirks.tokenAuth,
    provesAuthentication: openid && (settings.provesAuthentication ?? quirks.provesAuthentication ?? true),
    ...access,
    updateProfile: settings.updateProfile ?? false,
    endSession: settings.endSession ?? false,
    authParams: { ...quirks.authParams?.(values.presetSetting), ...settings.authParams },
    quirks,
    presetSetting: values.presetSetting,
  }
}

function validateSignedSecret(
  { needs, fault }: NonNullable<Quirks['signedSecret']>,
  { presetSetting }: PresetSettingValues,
  prefix: string,
): string[] {
  const missing = needs.filter((key) => presetSetting(key) === '').map((key) => prefix + key)
  if (missing.length > 0)
    return [`${prefix}CLIENT_SECRET is missing; set it, or set ${missing.join(', ')} to create it`]
  const wrong = fault(presetSetting)
  return wrong === undefined ? [] : [prefix + wrong]
}

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[_-]/g, ' ')
}

/** Adds `openid`, without which a provider sends no id_token. Commas are accepted as separators. */
function withOpenId(scope: string): string {
  const scopes = scope.split(/[\s,]+/).filter((item) => item !== '')
  return scopes.includes('openid') ? scopes.join(' ') : ['openid', ...scopes].join(' ')
}

function withScopes(scope: string, more: string): string {
  if (more === '' || scope.split(/[\s,]+/).includes(more)) return scope
  return `${scope} ${more}`
}
