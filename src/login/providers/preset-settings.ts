import { httpUrl } from '../../config/providers.ts'
import type { ReadPresetSetting, PresetSetting, Preset } from './preset.ts'

/** The values of a preset's own settings, and their errors. */
export interface PresetSettingValues {
  presetSetting: ReadPresetSetting
  /** Settings that `own` was called for and that have no value. `own` adds to it. */
  missing: ReadonlySet<string>
  faults: string[]
}

/** Reads a preset's own settings. @param prefix of the variables: `<NAME>_`. */
export function readPresetSettings(
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
