import { isObject } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

const at = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/**
 * Plain OAuth 2.0 for an integration: the profile is the bot's, and its owner is the person who authorized it. There are no
 * scopes. Every call has the API version. It does not tell whether an e-mail address is verified.
 */
export const notion: Preset = {
  label: 'Notion',
  colour: '#191919',
  documentation: [
    'https://developers.notion.com/docs/authorization',
    'https://developers.notion.com/reference/get-self',
    'https://developers.notion.com/reference/versioning',
  ],
  endpoints: () => ({
    authUrl: 'https://api.notion.com/v1/oauth/authorize',
    tokenUrl: 'https://api.notion.com/v1/oauth/token',
    profileUrl: 'https://api.notion.com/v1/users/me',
  }),
  scope: '',
  tokenAuth: 'basic',
  authParams: () => ({ owner: 'user' }),
  headers: () => ({ 'notion-version': '2022-06-28' }),
  readProfile: ({ document }) => {
    // The bot of a workspace has no `user`, and so no id.
    const user = at(at(document['bot'], 'owner'), 'user')
    return {
      id: at(user, 'id'),
      name: at(user, 'name'),
      email: at(at(user, 'person'), 'email'),
      emailVerified: false,
      // That of the document belongs to the integration.
      picture: at(user, 'avatar_url'),
    }
  },
}
