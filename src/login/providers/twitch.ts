import type { Preset } from './preset.ts'

/** The id_token contains only claims that are requested by name. */
const requested = { email: null, email_verified: null, preferred_username: null, picture: null }

/**
 * OpenID Connect. The `scope` of its token response is an array, and errors have a `message` instead of `error`;
 * normalize-token-response.ts handles both.
 */
export const twitch: Preset = {
  label: 'Twitch',
  colour: '#9146ff',
  documentation: ['https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/'],
  endpoints: () => ({ issuer: 'https://id.twitch.tv/oauth2' }),
  scope: 'openid user:read:email',
  tokenAuth: 'post',
  // `force_verify` requests the consent, not the password, and its id_token has no `auth_time`.
  provesAuthentication: false,
  authParams: () => ({ claims: JSON.stringify({ id_token: requested }) }),
  userinfo: false,
  readProfile: ({ claims }) => ({
    id: claims['sub'],
    name: claims['preferred_username'],
    email: claims['email'],
    emailVerified: claims['email_verified'],
  }),
}
