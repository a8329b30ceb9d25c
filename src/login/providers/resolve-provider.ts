import { httpUrl, type ProviderSettings } from '../../config/providers.ts'
import {
  protectedParametersIn,
  unusableResponseMode,
  letterIcon,
  readIcon,
  type Endpoints,
  type Preset,
  type PresetSetting,
  type Quirks,
  type ReadPresetSetting,
} from './preset.ts'
import { presets } from './presets.ts'
import type { ProviderBasics, ResolvedProvider } from './resolved-provider.ts'
import {
  type Admission,
  faultOfDomains,
  defaultClaim,
  type GroupMapping,
  maxGroupCharacters,
} from '../provider-client/groups.ts'

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
function prefixOf(name: string): string {
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
    const reason = preset ? '' : `, because ${settings.name} is not a preset`
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
    audiences: resolveAudiences(resolving, openid && quirks.nonce !== false),
    updateProfile: settings.updateProfile ?? false,
    endSession: settings.endSession ?? false,
    authParams: { ...quirks.authParams?.(values.presetSetting), ...settings.authParams },
    quirks,
    presetSetting: values.presetSetting,
  }
}

const longestAudience = 255

/** The audiences that a native app's id_token may have. @param usable whether the provider sends id_tokens with a nonce */
function resolveAudiences({ settings, prefix, faults }: Resolving, usable: boolean): readonly string[] {
  const { audiences = [] } = settings
  const isAudience = (one: unknown): boolean =>
    typeof one === 'string' && one !== '' && one.length <= longestAudience
  if (!Array.isArray(audiences) || !audiences.every(isAudience))
    faults.push(`${prefix}AUDIENCES is wrong: expected client IDs of at most ${longestAudience} characters`)
  else if (audiences.length > 0 && !usable)
    faults.push(`${prefix}AUDIENCES cannot be used: ${settings.name} sends no id_token with a nonce`)
  else return audiences
  return []
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

const maxClaimCharacters = 200
const roleFields = ['admin', 'exclusive']

interface GroupsAndAdmission {
  groups: GroupMapping
  admission: Admission
  /** The scopes that the groups need beside those of the sign-in; may be empty. */
  groupScope: string
}

/**
 * Where groups are, what they give, and who may sign in. Faults are added to `faults`.
 * @param prefix of the variables: `<NAME>_`
 */
function resolveGroups(
  settings: ProviderSettings,
  { groups: fromApi }: Quirks,
  prefix: string,
  faults: string[],
): GroupsAndAdmission {
  const { adminGroups, roles = {}, allowedEmailDomains: emailDomains = [] } = settings
  const { exclusive = false } = roles
  const unknown = Object.keys(roles).filter((field) => !roleFields.includes(field))
  if (unknown.length > 0)
    faults.push(
      `${prefix}ADMIN_GROUPS: unknown field roles.${unknown.join(', ')}; use ${roleFields.join(', ')}`,
    )
  const domainFault = faultOfDomains(emailDomains)
  if (domainFault !== undefined) faults.push(`${prefix}ALLOWED_EMAIL_DOMAINS is wrong: ${domainFault}`)
  const named = {
    admin: readNames(adminGroups ?? roles.admin, `${prefix}ADMIN_GROUPS`, faults),
    allowed: readNames(settings.allowedGroups, `${prefix}ALLOWED_GROUPS`, faults),
  }
  // Otherwise every sign-in would end the role of an admin.
  if (exclusive && named.admin.length === 0)
    faults.push(`${prefix}ADMIN_GROUPS is missing: roles.exclusive needs the groups whose members are admins`)
  const needed = named.admin.length > 0 || named.allowed.length > 0
  const claim = settings.groupsClaim ?? (needed ? defaultClaim : undefined)
  if (claim !== undefined && (typeof claim !== 'string' || claim.length > maxClaimCharacters))
    faults.push(`${prefix}GROUPS_CLAIM is wrong: expected a path of at most ${maxClaimCharacters} characters`)
  const isFromApi = fromApi !== undefined && claim === defaultClaim
  // The API gives them in lower case.
  const asNamed = (names: readonly string[]) => (isFromApi ? names.map((name) => name.toLowerCase()) : names)
  const [admin, allowed] = [asNamed(named.admin), asNamed(named.allowed)]
  // Anybody creates an organization at GitHub, with any name, and applications get what is stored.
  const stored = isFromApi && settings.groupsClaim === undefined ? [...admin, ...allowed] : undefined
  return {
    groups: { claim, admin, stored, exclusive },
    admission: { emailDomains: domainFault === undefined ? emailDomains : [], groups: allowed },
    groupScope: isFromApi ? fromApi.scope : '',
  }
}

function readNames(
  names: readonly string[] | undefined,
  setting: string,
  faults: string[],
): readonly string[] {
  if (names === undefined) return []
  if (Array.isArray(names) && names.every((name) => isGroupName(name))) return names
  faults.push(
    `${setting} is wrong: expected names of groups, each of at most ${maxGroupCharacters} characters`,
  )
  return []
}

function isGroupName(group: unknown): boolean {
  return typeof group === 'string' && group !== '' && group.length <= maxGroupCharacters
}

/** The values of a preset's own settings, and their errors. */
interface PresetSettingValues {
  presetSetting: ReadPresetSetting
  /** Settings that `own` was called for and that have no value. `own` adds to it. */
  missing: ReadonlySet<string>
  faults: string[]
}

/** Reads a preset's own settings. @param prefix of the variables: `<NAME>_`. */
function readPresetSettings(
  preset: Preset | undefined,
  given: Readonly<Record<string, string>>,
  prefix: string,
): PresetSettingValues {
  const declared = preset?.settings ?? {}
  const faults: string[] = []
  const values = new Map<string, string>()
  const missing = new Set<string>()
  for (const [key, setting] of Object.entries(declared)) {
    const value = given[key]?.trim() || setting.default
    if (value === undefined) continue
    const fault = faultOf(setting, value)
    // Without its trailing slash: the endpoints append paths.
    if (fault === undefined)
      values.set(key, setting.form === 'url' ? value.replace(/(?<!\/)\/+$/, '') : value)
    else faults.push(`${prefix}${key} is wrong: expected ${fault}. ${setting.description}`)
  }
  const presetSetting: ReadPresetSetting = (key) => {
    const value = values.get(key)
    if (value === undefined) missing.add(key)
    return value ?? ''
  }
  return { presetSetting, missing, faults }
}

const forms = {
  host: [/^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?$/i, 'a host name without https://'],
  guids: [
    /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(\s*,\s*[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})*$/i,
    'ids such as 72f988bf-86f1-41af-91ab-2d7cd011db47, comma-separated',
  ],
  word: [/^[\w.-]{1,200}$/, 'letters, digits, dots, - and _'],
} as const

function faultOf({ form }: PresetSetting, value: string): string | undefined {
  if (form === 'text') return undefined
  if (form === 'url') {
    try {
      const { search, hash } = new URL(httpUrl(value))
      return search === '' && hash === '' ? undefined : 'an address without a query'
    } catch {
      // The caller's message names the setting.
      return 'an https address'
    }
  }
  const [pattern, wanted] = forms[form]
  return pattern.test(value) ? undefined : wanted
}
