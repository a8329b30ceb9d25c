import type { Preset } from './preset.ts'

/** OpenID Connect of an organization, or of one of its authorization servers. */
export const okta: Preset = {
  label: 'Okta',
  colour: '#00297a',
  documentation: [
    'https://developer.okta.com/docs/guides/implement-grant-type/authcode/main/',
    'https://developer.okta.com/docs/reference/api/oidc/',
    'https://developer.okta.com/docs/guides/refresh-tokens/main/',
  ],
  settings: {
    DOMAIN: { description: 'The domain of the organization: `example.okta.com`.', form: 'host' },
    SERVER: {
      description: 'The id of an authorization server, such as `default`. Default: the organization’s own.',
      optional: true,
      form: 'word',
    },
  },
  endpoints: (presetSetting) => {
    const organization = `https://${presetSetting('DOMAIN')}`
    return {
      issuer:
        presetSetting('SERVER') === '' ? organization : `${organization}/oauth2/${presetSetting('SERVER')}`,
    }
  },
  scope: 'openid profile email',
  tokenAuth: 'basic',
  storedTokens: { scope: 'offline_access' },
}
