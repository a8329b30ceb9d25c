import { github } from './github.ts'
import { google } from './google.ts'
import type { Preset } from './preset.ts'

/** The providers that a pair of client id and secret is enough for, by the name in the settings. */
export const presets: Readonly<Record<string, Preset>> = { github, google }
