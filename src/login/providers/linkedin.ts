import type { Preset } from './preset.ts'

/**
 * OpenID Connect without PKCE and nonce, so the flow relies on the state, the provider's own callback URL and the issuer of the
 * id_token. It reads the secret only from the body. `email_verified` may be absent.
 */
export const linkedin: Preset = {
  label: 'LinkedIn',
  colour: '#0a66c2',
  documentation: [
    'https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2',
    'https://learn.microsoft.com/en-us/linkedin/shared/authentication/authorization-code-flow',
  ],
  endpoints: () => ({ issuer: 'https://www.linkedin.com/oauth' }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  // It does not reauthenticate people who have a session.
  provesAuthentication: false,
  // Its token endpoint answers 401 to a code_verifier together with the secret.
  pkce: false,
  // Its id_token does not contain the nonce.
  nonce: false,
}
