import { isObject } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0 with required PKCE and the secret in the header. The profile is below `data`; without `tweet.read` the
 * request gets 403. The e-mail address is present only if it is confirmed, and often missing.
 */
export const x: Preset = {
  label: 'X',
  colour: '#000000',
  documentation: [
    'https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code',
    'https://docs.x.com/x-api/users/get-my-user',
  ],
  endpoints: () => ({
    // On twitter.com, users would have to sign in again.
    authUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    profileUrl: 'https://api.x.com/2/users/me?user.fields=id,name,username,profile_image_url,confirmed_email',
  }),
  scope: 'users.read tweet.read users.email',
  tokenAuth: 'basic',
  storedTokens: { scope: 'offline.access' },
  readProfile: ({ document: { data } }) => {
    const user = isObject(data) ? data : {}
    return {
      id: user['id'],
      name: user['name'] ?? user['username'],
      email: user['confirmed_email'],
      emailVerified: typeof user['confirmed_email'] === 'string',
      picture: user['profile_image_url'],
    }
  },
}
