import { isObject } from '../profile.ts'
import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0; PKCE is required and the secret goes into the header. The profile lies below `data`. Without
 * `tweet.read` it is answered with 403. An address is only told when it is confirmed, and often not at all: the user
 * name is never taken for one.
 */
export const x: Preset = {
  label: 'X',
  colour: '#000000',
  documentation: [
    'https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code',
    'https://docs.x.com/x-api/users/get-my-user',
  ],
  addresses: () => ({
    // twitter.com would make everybody sign in again there.
    authUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    profileUrl: 'https://api.x.com/2/users/me?user.fields=id,name,username,confirmed_email',
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
    }
  },
}
