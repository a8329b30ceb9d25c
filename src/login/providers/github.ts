import { isObject } from '../profile.ts'
import type { Preset } from './preset.ts'

const site = 'https://github.com'

/**
 * Plain OAuth 2.0 with PKCE S256 and `iss` since 2025. The id is a number. The profile has only a public e-mail address, so the
 * primary one is read from the list of addresses. If the token may not read the list (401, 403, 404), the sign-in continues
 * without an address.
 */
export const github: Preset = {
  label: 'GitHub',
  colour: '#24292f',
  documentation: [
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://docs.github.com/en/rest/users/emails',
    'https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent',
  ],
  settings: {
    BASE_URL: { description: 'The address of a GitHub Enterprise Server.', default: site, form: 'url' },
  },
  endpoints: (presetSetting) => {
    const base = presetSetting('BASE_URL')
    return {
      authUrl: `${base}/login/oauth/authorize`,
      tokenUrl: `${base}/login/oauth/access_token`,
      profileUrl: base === site ? 'https://api.github.com/user' : `${base}/api/v3/user`,
      // Older GitHub Enterprise Servers do not send it.
      ...(base === site && { expectedResponseIssuer: `${site}/login/oauth` }),
    }
  },
  scope: 'read:user user:email',
  headers: () => ({ 'x-github-api-version': '2022-11-28' }),
  readProfile: async ({ document, profileUrl, readMore }) => {
    const list = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
    const primary = Array.isArray(list)
      ? list.find((item) => isObject(item) && item['primary'] === true)
      : undefined
    const listed = isObject(primary) ? primary : {}
    return {
      id: document['id'],
      name: document['name'] ?? document['login'],
      email: listed['email'] ?? document['email'],
      emailVerified: typeof listed['email'] === 'string' && listed['verified'] === true,
    }
  },
}
