import { faultOfProviderName, httpUrl, type ProviderSettings } from '../../config/providers.ts'
import type { ProviderConfig, TokenStorageConfig } from '../config.ts'

const fields = {
  preset: 'preset',
  clientId: 'clientId',
  clientSecret: 'clientSecret',
  name: 'label',
  icon: 'icon',
  issuer: 'issuer',
  authUrl: 'authUrl',
  tokenUrl: 'tokenUrl',
  profileUrl: 'profileUrl',
  jwksUrl: 'jwksUrl',
  scope: 'scope',
  authParams: 'authParams',
  tokenAuth: 'tokenAuth',
  pkce: 'pkce',
  provesAuthentication: 'provesAuthentication',
  groupsClaim: 'groupsClaim',
  roles: 'roles',
  allowedGroups: 'allowedGroups',
  allowedEmailDomains: 'allowedEmailDomains',
  updateProfile: 'updateProfile',
  endSession: 'endSession',
  settings: 'own',
} as const satisfies Record<keyof ProviderConfig, keyof ProviderSettings>

const addresses = ['issuer', 'authUrl', 'tokenUrl', 'profileUrl', 'jwksUrl'] as const

/**
 * Merges the providers of the environment and of the configuration module, in the order of /login: those of the module first,
 * in its order. For one name, each setting of the environment takes precedence; `-` and `_` in names are equivalent. Faults are
 * added to `faults`.
 */
export function mergeProviders(
  environment: readonly ProviderSettings[],
  module: Readonly<Record<string, ProviderConfig & TokenStorageConfig>>,
  faults: string[],
): ProviderSettings[] {
  const rest = new Map(environment.map((settings) => [settings.name, settings]))
  const merged: ProviderSettings[] = []
  const seen = new Set<string>()
  for (const [name, { keepTokens: _stored, ...config }] of Object.entries(module)) {
    const variable = name.replaceAll('-', '_')
    const fault =
      faultOfProviderName(name) ?? (seen.has(variable) ? `${name} is configured twice` : undefined)
    if (fault !== undefined) {
      faults.push(`login.providers: ${fault}`)
      continue
    }
    seen.add(variable)
    // Only `keepTokens` is set: the provider is configured elsewhere, or built in.
    if (Object.keys(config).length === 0 && !rest.has(variable)) continue
    const { name: _name, ...fromEnvironment } = rest.get(variable) ?? { name }
    rest.delete(variable)
    const settings = fromModule(name, config, faults)
    const own = { ...settings.own, ...fromEnvironment.own }
    merged.push({ ...settings, ...fromEnvironment, name, ...(Object.keys(own).length > 0 && { own }) })
  }
  return [...merged, ...rest.values()]
}

function fromModule(name: string, config: ProviderConfig, faults: string[]): Partial<ProviderSettings> {
  const settings: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(config)) {
    if (!Object.hasOwn(fields, key)) {
      faults.push(`login.providers.${name}: unknown field ${key}; use ${Object.keys(fields).join(', ')}`)
    } else if (value !== undefined && value !== '') {
      settings[fields[key as keyof ProviderConfig]] = value
    }
  }
  for (const key of addresses) {
    try {
      if (config[key]) httpUrl(config[key])
    } catch (error) {
      faults.push(`login.providers.${name}.${key} is wrong: ${(error as Error).message}`)
      delete settings[key]
    }
  }
  const given = Object.entries(config.settings ?? {}).filter(([, value]) => value !== undefined)
  return {
    ...settings,
    ...(given.length > 0 && { own: Object.fromEntries(given) as Record<string, string> }),
  }
}
