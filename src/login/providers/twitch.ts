import type { Preset } from './preset.ts'

/** Claims are in the id_token only when they are asked for one by one. */
const wanted = { email: null, email_verified: null, preferred_username: null }

/**
 * OpenID Connect; `scope` of the token response is an array, and its errors have a `message` in place of `error`: both
 * are put right for every provider before they are read.
 */
export const twitch: Preset = {
  label: 'Twitch',
  colour: '#9146ff',
  documentation: ['https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/'],
  addresses: () => ({ issuer: 'https://id.twitch.tv/oauth2' }),
  scope: 'openid user:read:email',
  tokenAuth: 'post',
  // `force_verify` asks for consent, not for the password, and its id_token has no `auth_time`.
  provesAuthentication: false,
  authParams: () => ({ claims: JSON.stringify({ id_token: wanted }) }),
  userinfo: false,
  readProfile: ({ claims }) => ({
    id: claims['sub'],
    name: claims['preferred_username'],
    email: claims['email'],
    emailVerified: claims['email_verified'],
  }),
}
