import type { Preset } from './preset.ts'

/** Plain OAuth 2.0. The id is a number. An address is confirmed when the user's `confirmed_at` is set. */
export const gitlab: Preset = {
  label: 'GitLab',
  colour: '#fc6d26',
  documentation: ['https://docs.gitlab.com/api/oauth2/', 'https://docs.gitlab.com/api/users/'],
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
  readProfile: ({ document }) => ({
    id: document['id'],
    name: document['name'] ?? document['username'],
    email: document['email'],
    emailVerified: typeof document['confirmed_at'] === 'string' && document['confirmed_at'] !== '',
  }),
}
