import type { Preset } from './preset.ts'

/**
 * Plain OAuth 2.0 with the secret in the header. There is no e-mail address. Calls whose User-Agent does not name the
 * application are throttled or refused. Errors have status 200.
 */
export const reddit: Preset = {
  label: 'Reddit',
  colour: '#d93900',
  documentation: [
    'https://github.com/reddit-archive/reddit/wiki/OAuth2',
    'https://github.com/reddit-archive/reddit/wiki/API',
  ],
  settings: {
    USER_AGENT: {
      description:
        'The User-Agent, which names the application: `web:com.example.app:v1.0 (by /u/somebody)`.',
      default: 'web:postern:v0.1.0',
      form: 'text',
    },
  },
  endpoints: () => ({
    authUrl: 'https://www.reddit.com/api/v1/authorize',
    tokenUrl: 'https://www.reddit.com/api/v1/access_token',
    profileUrl: 'https://oauth.reddit.com/api/v1/me',
  }),
  scope: 'identity',
  tokenAuth: 'basic',
  storedTokens: { authParams: { duration: 'permanent' } },
  headers: (presetSetting) => ({ 'user-agent': presetSetting('USER_AGENT') }),
  readProfile: ({ document, document: { icon_img: icon } }) => ({
    id: document['id'],
    name: document['name'],
    email: undefined,
    emailVerified: false,
    // Reddit writes the address as HTML.
    picture: typeof icon === 'string' ? icon.replaceAll('&amp;', '&') : undefined,
  }),
}
