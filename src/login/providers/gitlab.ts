import { isObject, UnusableProfile } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0. The id is a number. An address is confirmed when the user's `confirmed_at` is set. Groups are full paths
 * (`acme/operators`) in lower case, those above a subgroup included.
 */
export const gitlab: Preset = {
  label: 'GitLab',
  colour: '#fc6d26',
  documentation: [
    'https://docs.gitlab.com/api/oauth2/',
    'https://docs.gitlab.com/api/users/',
    'https://docs.gitlab.com/integration/openid_connect_provider/',
  ],
  settings: {
    BASE_URL: {
      description: 'The address of a self-managed GitLab.',
      default: 'https://gitlab.com',
      form: 'url',
    },
  },
  endpoints: (presetSetting) => ({
    authUrl: `${presetSetting('BASE_URL')}/oauth/authorize`,
    tokenUrl: `${presetSetting('BASE_URL')}/oauth/token`,
    profileUrl: `${presetSetting('BASE_URL')}/api/v4/user`,
  }),
  scope: 'read_user',
  groups: {
    // The userinfo needs no right to read the groups themselves, as the list of groups does.
    scope: 'openid',
    read: async ({ profileUrl, readNeeded }) => {
      const userinfo = await readNeeded(profileUrl.replace(/\/api\/v4\/user\/?$/, '/oauth/userinfo'))
      const groups = isObject(userinfo) ? userinfo['groups'] : undefined
      if (!Array.isArray(groups)) throw new UnusableProfile('the userinfo has no list of groups')
      return groups.map((group) => String(group).toLowerCase())
    },
  },
  readProfile: ({ document }) => ({
    id: document['id'],
    name: document['name'] ?? document['username'],
    email: document['email'],
    emailVerified: typeof document['confirmed_at'] === 'string' && document['confirmed_at'] !== '',
  }),
}
