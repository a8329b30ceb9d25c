import type { ProfileDocument } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/** Plain OAuth 2.0. Ids are strings of digits; the display name may be unset. */
export const discord: Preset = {
  label: 'Discord',
  colour: '#5865f2',
  documentation: [
    'https://discord.com/developers/docs/topics/oauth2',
    'https://discord.com/developers/docs/resources/user#user-object',
    'https://discord.com/developers/docs/reference#image-formatting',
  ],
  endpoints: () => ({
    authUrl: 'https://discord.com/oauth2/authorize',
    tokenUrl: 'https://discord.com/api/oauth2/token',
    profileUrl: 'https://discord.com/api/users/@me',
  }),
  scope: 'identify email',
  readProfile: ({ document }) => ({
    id: document['id'],
    name: document['global_name'] ?? document['username'],
    email: document['email'],
    emailVerified: document['verified'],
    picture: avatarOf(document),
  }),
}

/** The profile has only the hash of the picture. */
function avatarOf({ id, avatar }: ProfileDocument): string | undefined {
  return typeof avatar === 'string'
    ? `https://cdn.discordapp.com/avatars/${String(id)}/${avatar}.png`
    : undefined
}
