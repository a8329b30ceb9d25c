import { createHmac } from 'node:crypto'
import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0 on the Graph API, whose versions expire after about two years. Errors are objects. Calls with a token carry
 * a proof of the application's secret. It does not tell whether an e-mail address is verified.
 */
export const facebook: Preset = {
  label: 'Facebook',
  colour: '#0866ff',
  documentation: [
    'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow',
    'https://developers.facebook.com/docs/graph-api/guides/secure-requests',
    'https://developers.facebook.com/docs/graph-api/guides/versioning',
  ],
  settings: {
    GRAPH_VERSION: { description: 'The version of the Graph API.', default: 'v24.0', form: 'word' },
  },
  endpoints: (presetSetting) => ({
    authUrl: `https://www.facebook.com/${presetSetting('GRAPH_VERSION')}/dialog/oauth`,
    tokenUrl: `https://graph.facebook.com/${presetSetting('GRAPH_VERSION')}/oauth/access_token`,
    profileUrl: `https://graph.facebook.com/${presetSetting('GRAPH_VERSION')}/me?fields=id,name,email,picture.type(large)`,
  }),
  scope: 'email public_profile',
  tokenAuth: 'post',
  // It then asks for the password, but its response does not prove that.
  demandParams: () => ({ auth_type: 'reauthenticate' }),
  profileRequest: (token, clientSecret) =>
    clientSecret === undefined
      ? {}
      : { query: { appsecret_proof: createHmac('sha256', clientSecret).update(token).digest('hex') } },
  readProfile: ({ document }) => ({
    id: document['id'],
    name: document['name'],
    email: document['email'],
    emailVerified: false,
  }),
}
