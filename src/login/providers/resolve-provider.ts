import type { ProviderSettings } from '../../config/providers.ts'
import {
  faultsOfParameters,
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
import { areDomains, defaultClaim, maxGroupCharacters } from '../provider-client/groups.ts'

/**
 * Merges settings with their preset. An issuer means OpenID Connect; three endpoints without an issuer mean plain OAuth 2.0,
 * also with a preset. The quirks of a preset apply only with its own protocol. Faults are messages for the operator.
 */
export function resolveProvider(given: ProviderSettings): ResolvedProvider | { faults: string[] } {
  const prefix = `${given.name.toUpperCase().replaceAll('-', '_')}_`
  const presetName = given.preset ?? given.name
  const preset = Object.hasOwn(presets, presetName) ? presets[presetName] : undefined
  if (!preset && given.preset !== undefined) {
    const known = Object.keys(presets).join(', ')
    return {
      faults: [`${prefix}PRESET: there is no preset ${JSON.stringify(presetName)}; use one of ${known}`],
    }
  }
  const faults: string[] = []
  const presetSetting = readPresetSettings(preset, given.own ?? {}, prefix, faults)
  const isPresetSettingWrong = faults.length > 0
  const settings = withoutFaults(given, prefix, faults)
  const { known, missing } = knownEndpoints(preset, presetSetting)
  const issuer = issuerOf(settings, known)
  const kind = issuer === undefined ? 'oauth' : 'openid'
  const resolving = { settings, preset, presetSetting, missing, prefix, faults, isPresetSettingWrong }
  const basics = resolveBasics(resolving, preset && kindOf(preset) === kind ? preset : {}, kind === 'openid')
  const provider =
    issuer === undefined
      ? withEndpoints(resolving, basics, known)
      : withIssuer(resolving, basics, known, issuer)
  return provider === undefined || faults.length > 0 ? { faults } : provider
}

interface Resolving {
  settings: ProviderSettings
  preset: Preset | undefined
  presetSetting: ReadPresetSetting
  /** The preset's own settings that its endpoints need and that have no value. */
  missing: readonly string[]
  /** The prefix of the variables: `<NAME>_`. */
  prefix: string
  faults: string[]
  /** Whether one of the preset's own settings is invalid. */
  isPresetSettingWrong: boolean
}

const longestAudience = 255
const maxClaimCharacters = 200

const isText = (value: unknown, longest: number): boolean =>
  typeof value === 'string' && value !== '' && value.length <= longest
const areTexts = (list: unknown, longest: number): boolean =>
  Array.isArray(list) && list.every((one) => isText(one, longest))
const areGroups = (list: unknown): boolean => areTexts(list, maxGroupCharacters)
const groupNames = `names of groups, each of at most ${maxGroupCharacters} characters`

/** What the configuration module may set to anything: the rest of the variable's name, the check, and what it expects. */
const checks = {
  adminGroups: ['ADMIN_GROUPS', areGroups, groupNames],
  allowedGroups: ['ALLOWED_GROUPS', areGroups, groupNames],
  allowedEmailDomains: ['ALLOWED_EMAIL_DOMAINS', areDomains, 'domains such as example.com or *.example.com'],
  groupsClaim: [
    'GROUPS_CLAIM',
    (claim: unknown) => isText(claim, maxClaimCharacters),
    `a path of at most ${maxClaimCharacters} characters`,
  ],
  audiences: [
    'AUDIENCES',
    (list: unknown) => areTexts(list, longestAudience),
    `client IDs of at most ${longestAudience} characters`,
  ],
} as const

/** The settings without those that are wrong, whose faults are added to `faults`. */
function withoutFaults(given: ProviderSettings, prefix: string, faults: string[]): ProviderSettings {
  const adminGroups = given.adminGroups ?? given.roles?.admin
  const settings = { ...given, ...(adminGroups !== undefined && { adminGroups }) }
  for (const field of Object.keys(checks) as (keyof typeof checks)[]) {
    const [variable, isRight, expected] = checks[field]
    if (settings[field] === undefined || isRight(settings[field])) continue
    faults.push(`${prefix}${variable} is wrong: expected ${expected}`)
    delete settings[field]
  }
  return settings
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
function knownEndpoints(
  preset: Preset | undefined,
  presetSetting: ReadPresetSetting,
): { known: Endpoints; missing: string[] } {
  const missing = new Set<string>()
  const known = preset?.endpoints((key) => {
    const value = presetSetting(key)
    if (value === '' && preset.settings?.[key]?.optional !== true) missing.add(key)
    return value
  })
  return { known: known && missing.size === 0 ? known : {}, missing: [...missing] }
}

function withIssuer(
  { settings, preset }: Resolving,
  basics: ProviderBasics,
  known: Endpoints,
  issuer: string,
): ResolvedProvider {
  // The preset's endpoints belong to the preset's issuer.
  const { authUrl, tokenUrl, profileUrl, jwksUrl }: Endpoints =
    settings.issuer === undefined ? { ...known, ...settings } : settings
  const scope = withScopes(settings.scope ?? preset?.scope ?? 'openid email profile', basics.scope)
  return {
    ...basics,
    kind: 'openid',
    issuer,
    authUrl,
    tokenUrl,
    profileUrl,
    jwksUrl,
    // A preset without `openid` in its scope gets an id_token without it.
    scope: preset !== undefined && !/\bopenid\b/.test(preset.scope) ? scope : withOpenId(scope),
  }
}

function withEndpoints(
  { settings, preset, missing, prefix, faults, isPresetSettingWrong }: Resolving,
  basics: ProviderBasics,
  known: Endpoints,
): ResolvedProvider | undefined {
  const { authUrl, tokenUrl, profileUrl }: Endpoints = { ...known, ...settings }
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
    const needed = preset ? `${missing.map((key) => prefix + key).join(' and ')}, or ` : ''
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
  const { settings, preset, presetSetting, prefix, faults } = resolving
  const { name, clientId, clientSecret } = settings
  const pkce = settings.pkce ?? quirks.pkce !== false
  if (clientId === undefined) faults.push(`${prefix}CLIENT_ID is missing, though ${name} is configured`)
  if (clientSecret === undefined && quirks.signedSecret) {
    faults.push(...validateSignedSecret(quirks.signedSecret, presetSetting, prefix))
  } else if (clientSecret === undefined && !pkce) {
    faults.push(`${prefix}CLIENT_SECRET is missing; ${name} needs it without PKCE`)
  }
  faults.push(...faultsOfParameters(settings, prefix))
  const { audiences = [] } = settings
  if (audiences.length > 0 && !(openid && quirks.nonce !== false))
    faults.push(`${prefix}AUDIENCES cannot be used: ${name} sends no id_token with a nonce`)
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
    audiences,
    updateProfile: settings.updateProfile ?? false,
    endSession: settings.endSession ?? false,
    authParams: { ...quirks.authParams?.(presetSetting), ...settings.authParams },
    quirks,
    presetSetting,
  }
}

function validateSignedSecret(
  { needs, fault }: NonNullable<Quirks['signedSecret']>,
  presetSetting: ReadPresetSetting,
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

const roleFields = ['admin', 'exclusive']

interface GroupsAndAdmission extends Pick<ProviderBasics, 'groups' | 'admission'> {
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
  const {
    adminGroups = [],
    allowedGroups = [],
    allowedEmailDomains: emailDomains = [],
    roles = {},
  } = settings
  const { exclusive = false } = roles
  const unknown = Object.keys(roles).filter((field) => !roleFields.includes(field))
  if (unknown.length > 0)
    faults.push(
      `${prefix}ADMIN_GROUPS: unknown field roles.${unknown.join(', ')}; use ${roleFields.join(', ')}`,
    )
  // Otherwise every sign-in would end the role of an admin.
  if (exclusive && adminGroups.length === 0)
    faults.push(`${prefix}ADMIN_GROUPS is missing: roles.exclusive needs the groups whose members are admins`)
  const needed = adminGroups.length > 0 || allowedGroups.length > 0
  const claim = settings.groupsClaim ?? (needed ? defaultClaim : undefined)
  const isFromApi = fromApi !== undefined && claim === defaultClaim
  // The API gives them in lower case.
  const asNamed = (names: readonly string[]) => (isFromApi ? names.map((name) => name.toLowerCase()) : names)
  const [admin, allowed] = [asNamed(adminGroups), asNamed(allowedGroups)]
  // Anybody creates an organization at GitHub, with any name, and applications get what is stored.
  const stored = isFromApi && settings.groupsClaim === undefined ? [...admin, ...allowed] : undefined
  return {
    groups: { claim, admin, stored, exclusive },
    admission: { emailDomains, groups: allowed },
    groupScope: isFromApi ? fromApi.scope : '',
  }
}

/**
 * Reads a preset's own settings. Faults are added to `faults`.
 * @param prefix of the variables: `<NAME>_`
 */
function readPresetSettings(
  preset: Preset | undefined,
  given: Readonly<Record<string, string>>,
  prefix: string,
  faults: string[],
): ReadPresetSetting {
  const values = new Map<string, string>()
  for (const [key, setting] of Object.entries(preset?.settings ?? {})) {
    const value = given[key]?.trim() || setting.default
    if (value === undefined) continue
    const [isRight, expected] = forms[setting.form]
    // Without its trailing slash: the endpoints append paths.
    if (isRight(value)) values.set(key, setting.form === 'url' ? value.replace(/(?<!\/)\/+$/, '') : value)
    else faults.push(`${prefix}${key} is wrong: expected ${expected}. ${setting.description}`)
  }
  return (key) => values.get(key) ?? ''
}

const matches = (pattern: RegExp) => (value: string) => pattern.test(value)

const forms: Record<PresetSetting['form'], [isRight: (value: string) => boolean, expected: string]> = {
  host: [matches(/^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?$/i), 'a host name without https://'],
  guids: [
    matches(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(\s*,\s*[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})*$/i),
    'ids such as 72f988bf-86f1-41af-91ab-2d7cd011db47, comma-separated',
  ],
  word: [matches(/^[\w.-]{1,200}$/), 'letters, digits, dots, - and _'],
  url: [isAddress, 'an https address without a query'],
  text: [() => true, 'a text'],
}

function isAddress(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
}
