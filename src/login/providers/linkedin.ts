import type { Preset } from './preset.ts'

/**
 * OpenID Connect with gaps, so that the state, the callback address of its own and the issuer of the id_token have to
 * carry the flow. The secret is understood in the body only. `email_verified` may be absent.
 */
export const linkedin: Preset = {
  label: 'LinkedIn',
  colour: '#0a66c2',
  documentation: [
    'https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2',
    'https://learn.microsoft.com/en-us/linkedin/shared/authentication/authorization-code-flow',
  ],
  addresses: () => ({ issuer: 'https://www.linkedin.com/oauth' }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  // It lets everybody pass who has a session there.
  provesAuthentication: false,
  // Its token endpoint answers 401 when a code_verifier comes with the secret.
  pkce: false,
  // Its id_token does not hold the nonce that was sent.
  nonce: false,
}
