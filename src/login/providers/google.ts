import type { Preset } from './preset.ts'

/** https://developers.google.com/identity/openid-connect/openid-connect */
export const google: Preset = {
  label: 'Google',
  issuer: 'https://accounts.google.com',
  scope: 'openid email profile',
}
