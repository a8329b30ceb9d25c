import type { Granted, Reply, Shape } from '#test/harness/shaped-provider.ts'

/** A provider that a preset is for, where a person signs in who is then known here as `expected`. */
export interface ProviderCase {
  shape: Shape
  /** What leads the preset to the local server, beside the id and the secret. */
  env: (url: string, prefix: string) => Record<string, string>
  expected: { providerId: string; name: string | null; email: string | null; verified: boolean }
  /** The parameters of the authorization request that are the preset's. */
  asks: Record<string, string>
}

/** A token response as most of them write it. */
export const bearer = ({ accessToken: token }: Granted, more: Record<string, unknown> = {}): Reply => ({
  json: { access_token: token, token_type: 'Bearer', expires_in: 3600, ...more },
})
export const openid = (granted: Granted): Reply => bearer(granted, { id_token: granted.idToken })
export const invalidGrant: Reply = {
  status: 400,
  json: { error: 'invalid_grant', error_description: '<b>no</b>' },
}
/** Leads a plain OAuth 2.0 preset to the local server. */
export const addresses =
  (profile: string, paths: Pick<Shape, 'authorize' | 'token'>) =>
  (url: string, prefix: string): Record<string, string> => ({
    [`${prefix}_AUTH_URL`]: url + paths.authorize,
    [`${prefix}_TOKEN_URL`]: url + paths.token,
    [`${prefix}_PROFILE_URL`]: url + profile,
  })
/** Leads an OpenID preset to the local server. */
export const issuer =
  (path: string) =>
  (url: string, prefix: string): Record<string, string> => ({ [`${prefix}_ISSUER`]: url + path })

/** OpenID Connect as the standard has it. */
export function standardOpenId(
  path: string,
  endpoints: { authorize: string; token: string; userinfo: string; tokenAuth: 'basic' | 'post' },
  verified: unknown = true,
): ProviderCase {
  const { authorize, token, tokenAuth } = endpoints
  const person = { sub: 'sub-4711', name: 'Ada Lovelace', email: 'ada@example.com', email_verified: verified }
  return {
    shape: {
      authorize,
      token,
      tokenAuth,
      issuer: path,
      metadata: (url) => ({
        userinfo_endpoint: url + endpoints.userinfo,
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        code_challenge_methods_supported: ['S256'],
      }),
      claims: { sub: 'sub-4711' },
      grant: openid,
      refusal: invalidGrant,
      api: { [`GET ${endpoints.userinfo}`]: () => ({ json: person }) },
    },
    env: issuer(path),
    expected: { providerId: 'sub-4711', name: 'Ada Lovelace', email: 'ada@example.com', verified: true },
    asks: { scope: 'openid profile email' },
  }
}
