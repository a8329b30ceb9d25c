import { isObject } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

/** Plain OAuth 2.0. Its reference says that the e-mail address is not verified. */
export const spotify: Preset = {
  label: 'Spotify',
  colour: '#1db954',
  documentation: [
    'https://developer.spotify.com/documentation/web-api/tutorials/code-flow',
    'https://developer.spotify.com/documentation/web-api/reference/get-current-users-profile',
  ],
  endpoints: () => ({
    authUrl: 'https://accounts.spotify.com/authorize',
    tokenUrl: 'https://accounts.spotify.com/api/token',
    profileUrl: 'https://api.spotify.com/v1/me',
  }),
  scope: 'user-read-email',
  tokenAuth: 'basic',
  readProfile: ({ document }) => ({
    id: document['id'],
    name: document['display_name'],
    email: document['email'],
    emailVerified: false,
    picture: firstImage(document['images']),
  }),
}

/** The widest one is the first. */
function firstImage(images: unknown): unknown {
  const [first] = Array.isArray(images) ? (images as unknown[]) : []
  return isObject(first) ? first['url'] : undefined
}
