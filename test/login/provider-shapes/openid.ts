// OpenID providers, by their documentation (the pages are cited in src/login/providers/*).
import { bearer, issuer, openid, standardOpenId, type ProviderCase } from './case.ts'

export const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
export const objectId = '690222be-ff1a-4d56-abd1-7e4f7d38e474'

export const openIdProviders: Record<string, ProviderCase> = {
  google: {
    ...standardOpenId('', {
      authorize: '/o/oauth2/v2/auth',
      token: '/token',
      userinfo: '/v1/userinfo',
      tokenAuth: 'post',
    }),
    asks: { scope: 'openid email profile' },
  },

  microsoft: {
    shape: {
      authorize: '/common/oauth2/v2.0/authorize',
      token: '/common/oauth2/v2.0/token',
      tokenAuth: 'post',
      issuer: '/common/v2.0',
      metadata: (url) => ({
        issuer: `${url}/{tenantid}/v2.0`,
        userinfo_endpoint: `${url}/oidc/userinfo`,
        token_endpoint_auth_methods_supported: [
          'client_secret_post',
          'private_key_jwt',
          'client_secret_basic',
        ],
      }),
      tokenIssuer: (url) => `${url}/${tenant}/v2.0`,
      claims: {
        sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
        tid: tenant,
        oid: objectId,
        name: 'Abe Lincoln',
        preferred_username: 'AbeLi@microsoft.com',
        email: 'abeli@example.com',
      },
      grant: openid,
      refusal: { status: 400, json: { error: 'invalid_grant', error_codes: [70000], trace_id: 'x' } },
      api: { 'GET /oidc/userinfo': () => ({ status: 403, json: {} }) },
    },
    env: issuer('/common/v2.0'),
    expected: {
      providerId: `${tenant}:${objectId}`,
      name: 'Abe Lincoln',
      email: 'abeli@example.com',
      verified: false,
    },
    asks: { scope: 'openid profile email' },
  },

  apple: {
    shape: {
      authorize: '/auth/authorize',
      token: '/auth/token',
      tokenAuth: 'post',
      issuer: '',
      form: () => ({
        user: '{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"x@privaterelay.appleid.com"}',
      }),
      claims: {
        sub: '001234.5678.9012',
        email: 'x@privaterelay.appleid.com',
        email_verified: 'true',
        is_private_email: 'true',
      },
      grant: (granted) => bearer(granted, { id_token: granted.idToken, refresh_token: 'r' }),
      refusal: { status: 400, json: { error: 'invalid_grant' } },
    },
    env: (url) => ({
      APPLE_ISSUER: url,
      APPLE_AUTH_URL: `${url}/auth/authorize`,
      APPLE_TOKEN_URL: `${url}/auth/token`,
      APPLE_JWKS_URL: `${url}/jwks`,
    }),
    expected: {
      providerId: '001234.5678.9012',
      name: 'Ada Lovelace',
      email: 'x@privaterelay.appleid.com',
      verified: true,
    },
    asks: { scope: 'name email', response_mode: 'form_post' },
  },

  slack: {
    shape: {
      authorize: '/openid/connect/authorize',
      token: '/api/openid.connect.token',
      tokenAuth: 'post',
      issuer: '',
      metadata: (url) => ({
        userinfo_endpoint: `${url}/api/openid.connect.userInfo`,
        token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      }),
      claims: {
        sub: 'U123ABC456',
        'https://slack.com/user_id': 'U123ABC456',
        'https://slack.com/team_id': 'T123ABC456',
      },
      grant: (granted) => bearer(granted, { ok: true, id_token: granted.idToken }),
      refusal: { json: { ok: false, error: 'invalid_code' } },
      api: {
        'GET /api/openid.connect.userInfo': () => ({
          json: {
            ok: true,
            sub: 'U123ABC456',
            'https://slack.com/team_id': 'T123ABC456',
            name: 'brent',
            email: 'bront@example.com',
            email_verified: true,
          },
        }),
      },
    },
    env: issuer(''),
    expected: {
      providerId: 'T123ABC456:U123ABC456',
      name: 'brent',
      email: 'bront@example.com',
      verified: true,
    },
    asks: { scope: 'openid profile email' },
  },

  linkedin: {
    shape: {
      authorize: '/oauth/v2/authorization',
      token: '/oauth/v2/accessToken',
      tokenAuth: 'post',
      pkce: 'refused',
      nonce: false,
      issuer: '/oauth',
      metadata: (url) => ({ userinfo_endpoint: `${url}/v2/userinfo` }),
      claims: { sub: '782bbtaQ' },
      grant: (granted) => bearer(granted, { id_token: granted.idToken, scope: 'email,openid,profile' }),
      refusal: {
        status: 401,
        json: { error: 'invalid_client', error_description: 'Client authentication failed' },
      },
      api: {
        'GET /v2/userinfo': () => ({
          json: { sub: '782bbtaQ', name: 'John Doe', locale: 'en-US', email: 'doe@example.com' },
        }),
      },
    },
    env: issuer('/oauth'),
    expected: { providerId: '782bbtaQ', name: 'John Doe', email: 'doe@example.com', verified: false },
    asks: { scope: 'openid profile email' },
  },

  twitch: {
    shape: {
      authorize: '/oauth2/authorize',
      token: '/oauth2/token',
      tokenAuth: 'post',
      issuer: '/oauth2',
      metadata: (url) => ({ userinfo_endpoint: `${url}/oauth2/userinfo` }),
      claims: {
        sub: '713936733',
        preferred_username: 'Justin',
        email: 'justin@example.com',
        email_verified: true,
      },
      grant: (granted) =>
        bearer(granted, {
          id_token: granted.idToken,
          scope: ['openid', 'user:read:email'],
          refresh_token: 'r',
        }),
      refusal: { status: 400, json: { status: 400, message: 'Invalid authorization code' } },
    },
    env: issuer('/oauth2'),
    expected: { providerId: '713936733', name: 'Justin', email: 'justin@example.com', verified: true },
    asks: {
      scope: 'openid user:read:email',
      claims: '{"id_token":{"email":null,"email_verified":null,"preferred_username":null,"picture":null}}',
    },
  },

  okta: standardOpenId('/oauth2/default', {
    authorize: '/oauth2/default/v1/authorize',
    token: '/oauth2/default/v1/token',
    userinfo: '/oauth2/default/v1/userinfo',
    tokenAuth: 'basic',
  }),

  auth0: {
    ...standardOpenId('/', {
      authorize: '/authorize',
      token: '/oauth/token',
      userinfo: '/userinfo',
      tokenAuth: 'post',
    }),
  },

  keycloak: standardOpenId('/realms/shop', {
    authorize: '/realms/shop/protocol/openid-connect/auth',
    token: '/realms/shop/protocol/openid-connect/token',
    userinfo: '/realms/shop/protocol/openid-connect/userinfo',
    tokenAuth: 'post',
  }),

  cognito: standardOpenId(
    '/eu-west-1_AbCdEfGhI',
    {
      authorize: '/oauth2/authorize',
      token: '/oauth2/token',
      userinfo: '/oauth2/userInfo',
      tokenAuth: 'basic',
    },
    'true',
  ),
}
