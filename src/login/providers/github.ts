import { findMarked, isObject, UnusableProfile } from '../provider-client/profile.ts'
import type { GroupSource, Preset } from './preset.ts'

const site = 'https://github.com'

/** The entries of a page, which is the most that GitHub gives, and the pages of one list that are read. */
const pageSize = 100
const maxPages = 10

/**
 * Plain OAuth 2.0 with PKCE S256 and `iss` since 2025. The id is a number. The profile has only a public e-mail address, so the
 * primary one is read from the list of addresses. If the token may not read the list (401, 403, 404), the sign-in continues
 * without an address. Groups are organizations (`acme`) and teams (`acme/operators`), both in lower case.
 */
export const github: Preset = {
  label: 'GitHub',
  colour: '#24292f',
  documentation: [
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://docs.github.com/en/rest/users/emails',
    'https://docs.github.com/en/rest/orgs/orgs#list-organizations-for-the-authenticated-user',
    'https://docs.github.com/en/rest/teams/teams#list-teams-for-the-authenticated-user',
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
  groups: {
    scope: 'read:org',
    read: async ({ profileUrl, readNeeded }) => {
      const base = profileUrl.replace(/\/$/, '')
      const organizations = await readPages(`${base}/orgs`, readNeeded)
      const teams = await readPages(`${base}/teams`, readNeeded)
      return [
        ...organizations.map((one) => nameOf(one, 'login')),
        ...teams.map((one) => `${nameOf(one['organization'], 'login')}/${nameOf(one, 'slug')}`),
      ]
    },
  },
  headers: () => ({ 'x-github-api-version': '2022-11-28' }),
  readProfile: async ({ document, profileUrl, readMore }) => {
    const list = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
    const listed = findMarked(list, 'primary')
    return {
      id: document['id'],
      name: document['name'] ?? document['login'],
      email: listed['email'] ?? document['email'],
      emailVerified: typeof listed['email'] === 'string' && listed['verified'] === true,
      isFallbackEmail: list === undefined,
    }
  },
}

async function readPages(
  url: string,
  readNeeded: GroupSource['readNeeded'],
): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = []
  for (let page = 1; page <= maxPages; page += 1) {
    const list = await readNeeded(`${url}?per_page=${pageSize}&page=${page}`)
    if (!Array.isArray(list)) throw new UnusableProfile('a list of the profile is no list')
    entries.push(...list.filter((entry) => isObject(entry)))
    if (list.length < pageSize) break
  }
  return entries
}

function nameOf(entry: unknown, field: string): string {
  const name = isObject(entry) ? entry[field] : undefined
  if (typeof name !== 'string') throw new UnusableProfile('an organization or a team has no name')
  return name.toLowerCase()
}
