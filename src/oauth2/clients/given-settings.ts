import { Problem } from '../../errors.ts'
import type { ClientSettings } from './client-config.ts'
import { nameFaults, settingsFaults } from './client-faults.ts'

/** Settings that a caller gives; `null` selects the default. */
export type GivenSettings = { [K in keyof ClientSettings]?: ClientSettings[K] | null | undefined }

/**
 * The settings to store for an app of this name.
 * @param before the stored ones, of which those stay that are not given
 * @throws Problem `invalid-body`
 */
export function settingsToStore(
  name: string,
  given: GivenSettings,
  confidential: boolean,
  before: ClientSettings = {},
): ClientSettings {
  const changes = Object.entries(given).filter(([, value]) => value !== undefined)
  const all = Object.entries({ ...before, ...Object.fromEntries(changes) })
  const settings: ClientSettings = Object.fromEntries(all.filter(([, value]) => value !== null))
  const [fault] = [
    ...nameFaults(name, 'the app').map((message) => ({ setting: 'name', message })),
    ...settingsFaults(settings, { named: 'the app', confidential }),
  ]
  if (fault !== undefined)
    throw new Problem('invalid-body', { detail: `${fault.message}.`, pointer: `/${fault.setting}` })
  return settings
}
