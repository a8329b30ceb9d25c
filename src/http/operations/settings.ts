import { Type } from 'typebox'
import { shownSettings, type SettingsSource } from '../../config/shown-settings.ts'
import type { App } from '../app.ts'
import { closedObject, nullable } from '../schemas/schemas.ts'
import { report } from './report.ts'

const Settings = closedObject({
  data: Type.Array(
    closedObject({
      name: Type.String(),
      description: Type.String({ description: 'Markdown' }),
      value: nullable(Type.String(), 'Null if it has none, or if it is a secret'),
      isSet: Type.Boolean({ description: 'Whether it has a value' }),
      secret: Type.Boolean(),
      origin: Type.String({
        description: 'environment, .env file, --env-file, NAME_FILE, demo mode, default, not set',
      }),
    }),
  ),
})

/** GET /settings: what this process was started with, as `postern config print` shows it. */
export function settingsRoute(app: App, source: SettingsSource): void {
  app.get(
    '/settings',
    report('admin', 'The settings in force with their origin, without secrets', Settings),
    async () => ({
      data: shownSettings(source).settings.map(({ name, description, value, secret, origin }) => ({
        name,
        description,
        value: secret ? null : (value ?? null),
        isSet: value !== undefined,
        secret,
        origin,
      })),
    }),
  )
}
