import type { Preset } from './preset.ts'

/**
 * OpenID Connect of a user pool, whose id starts with the region. The issuer is Amazon's; the pages and the token endpoint are
 * on the pool's own domain (discovered). `email_verified` may be the string "true".
 */
export const cognito: Preset = {
  label: 'Cognito',
  colour: '#a32035',
  documentation: [
    'https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html',
    'https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html',
  ],
  settings: {
    USER_POOL_ID: { description: 'The id of the user pool: `eu-west-1_AbCdEfGhI`.', form: 'word' },
  },
  endpoints: (presetSetting) => {
    const [region = ''] = presetSetting('USER_POOL_ID').split('_')
    return { issuer: `https://cognito-idp.${region}.amazonaws.com/${presetSetting('USER_POOL_ID')}` }
  },
  scope: 'openid profile email',
  tokenAuth: 'basic',
}
