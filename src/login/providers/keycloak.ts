import type { Preset } from './preset.ts'

/** OpenID Connect of a realm. */
export const keycloak: Preset = {
  label: 'Keycloak',
  colour: '#00698f',
  documentation: ['https://www.keycloak.org/securing-apps/oidc-layers'],
  settings: {
    BASE_URL: { description: 'The address of the server: `https://sso.example.com`.', form: 'url' },
    REALM: { description: 'The name of the realm.', form: 'word' },
  },
  endpoints: (presetSetting) => ({
    issuer: `${presetSetting('BASE_URL')}/realms/${encodeURIComponent(presetSetting('REALM'))}`,
  }),
  scope: 'openid profile email',
  tokenAuth: 'post',
}
