import { isObject } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/** Plain OAuth 2.0. The profile is fetched by POST without a body; the name is an object. */
export const dropbox: Preset = {
  label: 'Dropbox',
  colour: '#0061fe',
  documentation: [
    'https://developers.dropbox.com/oauth-guide',
    'https://www.dropbox.com/developers/documentation/http/documentation#users-get_current_account',
  ],
  endpoints: () => ({
    authUrl: 'https://www.dropbox.com/oauth2/authorize',
    tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
    profileUrl: 'https://api.dropboxapi.com/2/users/get_current_account',
  }),
  scope: 'account_info.read',
  tokenAuth: 'basic',
  // It then asks for the password, but its response does not prove that.
  demandParams: () => ({ force_reauthentication: 'true' }),
  storedTokens: { authParams: { token_access_type: 'offline' } },
  profileRequest: () => ({ method: 'POST' }),
  readProfile: ({ document }) => ({
    id: document['account_id'],
    name: isObject(document['name']) ? document['name']['display_name'] : undefined,
    email: document['email'],
    emailVerified: document['email_verified'],
    picture: document['profile_photo_url'],
  }),
}
