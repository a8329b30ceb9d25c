import { isObject, readStandardProfile } from '../profile.ts'
import type { Preset } from './preset.ts'

/**
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps: plain OAuth 2.0, PKCE S256
 * and `iss` since 2025. The id is a number; the e-mail address of the profile is the public one, if any, so the list of
 * addresses (https://docs.github.com/en/rest/users/emails) is asked for the primary one that is verified.
 */
export const github: Preset = {
  label: 'GitHub',
  authUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  profileUrl: 'https://api.github.com/user',
  responseIssuer: 'https://github.com/login/oauth',
  scope: 'read:user user:email',
  readProfile: async (document, profileUrl, readMore) => {
    const standard = readStandardProfile(document)
    const list = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
    const primary = Array.isArray(list)
      ? list.find((item) => isObject(item) && item['primary'] === true && item['verified'] === true)
      : undefined
    return {
      id: standard.id,
      name: standard.name ?? document['login'],
      email: isObject(primary) ? primary['email'] : standard.email,
      emailVerified: primary !== undefined,
    }
  },
}
