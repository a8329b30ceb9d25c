import type { Preset } from './preset.ts'

/** OpenID Connect; the issuer ends with a slash. */
export const auth0: Preset = {
  label: 'Auth0',
  colour: '#d14a1f',
  documentation: [
    'https://auth0.com/docs/get-started/authentication-and-authorization-flow/authorization-code-flow',
    'https://auth0.com/docs/get-started/applications/configure-applications-with-oidc-discovery',
    'https://auth0.com/docs/secure/tokens/refresh-tokens/get-refresh-tokens',
  ],
  settings: {
    DOMAIN: {
      description: 'The domain of the tenant: `example.eu.auth0.com`, or a custom domain.',
      form: 'host',
    },
  },
  endpoints: (presetSetting) => ({ issuer: `https://${presetSetting('DOMAIN')}/` }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  storedTokens: { scope: 'offline_access' },
}
