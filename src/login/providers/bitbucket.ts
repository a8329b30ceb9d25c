import { findMarked, isObject } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0 with the secret in the header. The account's `uuid` is its stable id. E-mail addresses are in a separate
 * list, for the scope `email`. PKCE is not documented; unknown parameters are ignored.
 */
export const bitbucket: Preset = {
  label: 'Bitbucket',
  colour: '#0052cc',
  documentation: [
    'https://developer.atlassian.com/cloud/bitbucket/oauth-2/',
    'https://developer.atlassian.com/cloud/bitbucket/rest/api-group-users/',
  ],
  endpoints: () => ({
    authUrl: 'https://bitbucket.org/site/oauth2/authorize',
    tokenUrl: 'https://bitbucket.org/site/oauth2/access_token',
    profileUrl: 'https://api.bitbucket.org/2.0/user',
  }),
  scope: 'account email',
  tokenAuth: 'basic',
  readProfile: async ({ document, profileUrl, readMore }) => {
    const page = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
    const list: unknown = isObject(page) ? (page['values'] ?? page) : page
    const { links } = document
    const listed = findMarked(list, 'is_primary')
    return {
      id: document['uuid'],
      name: document['display_name'],
      email: listed['email'],
      emailVerified: listed['is_confirmed'] === true,
      picture: isObject(links) && isObject(links['avatar']) ? links['avatar']['href'] : undefined,
    }
  },
}
