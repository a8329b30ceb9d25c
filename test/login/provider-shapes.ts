// What each provider of the presets answers, by its documentation (the pages are cited in src/login/providers/*).
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

const bearer = ({ accessToken: token }: Granted, more: Record<string, unknown> = {}): Reply => ({
  json: { access_token: token, token_type: 'Bearer', expires_in: 3600, ...more },
})
const openid = (granted: Granted): Reply => bearer(granted, { id_token: granted.idToken })
const invalidGrant: Reply = { status: 400, json: { error: 'invalid_grant', error_description: '<b>no</b>' } }
const addresses =
  (profile: string, { shape }: { shape: Pick<Shape, 'authorize' | 'token'> }) =>
  (url: string, prefix: string): Record<string, string> => ({
    [`${prefix}_AUTH_URL`]: url + shape.authorize,
    [`${prefix}_TOKEN_URL`]: url + shape.token,
    [`${prefix}_PROFILE_URL`]: url + profile,
  })
const issuer =
  (path: string) =>
  (url: string, prefix: string): Record<string, string> => ({ [`${prefix}_ISSUER`]: url + path })

/** OpenID Connect as the standard has it. */
function standardOpenId(
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

const githubPaths = { authorize: '/login/oauth/authorize', token: '/login/oauth/access_token' }
const gitlabPaths = { authorize: '/oauth/authorize', token: '/oauth/token' }
const facebookPaths = { authorize: '/v24.0/dialog/oauth', token: '/v24.0/oauth/access_token' }
const discordPaths = { authorize: '/oauth2/authorize', token: '/api/oauth2/token' }
const xPaths = { authorize: '/i/oauth2/authorize', token: '/2/oauth2/token' }
const spotifyPaths = { authorize: '/authorize', token: '/api/token' }
const bitbucketPaths = { authorize: '/site/oauth2/authorize', token: '/site/oauth2/access_token' }
const amazonPaths = { authorize: '/ap/oa', token: '/auth/o2/token' }
const notionPaths = { authorize: '/v1/oauth/authorize', token: '/v1/oauth/token' }
const dropboxPaths = { authorize: '/oauth2/authorize', token: '/oauth2/token' }
const redditPaths = { authorize: '/api/v1/authorize', token: '/api/v1/access_token' }

export const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
export const objectId = '690222be-ff1a-4d56-abd1-7e4f7d38e474'

export const providerCases: Record<string, ProviderCase> = {
  google: {
    ...standardOpenId('', {
      authorize: '/o/oauth2/v2/auth',
      token: '/token',
      userinfo: '/v1/userinfo',
      tokenAuth: 'post',
    }),
    asks: { scope: 'openid email profile' },
  },

  github: {
    shape: {
      ...githubPaths,
      tokenAuth: 'post',
      responseIssuer: 'https://github.com/login/oauth',
      grant: ({ accessToken: token }) => ({
        json: { access_token: token, scope: 'read:user,user:email', token_type: 'bearer' },
      }),
      refusal: {
        json: {
          error: 'bad_verification_code',
          error_description: 'The code passed is incorrect or expired.',
          error_uri: 'https://docs.github.com/',
        },
      },
      api: {
        'GET /user': ({ headers }) =>
          headers['user-agent']
            ? { json: { id: 583231, login: 'octocat', name: 'The Octocat', email: 'public@example.com' } }
            : { status: 403, text: 'Request forbidden by administrative rules.' },
        'GET /user/emails': () => ({
          json: [
            { email: 'old@example.com', primary: false, verified: true, visibility: null },
            { email: 'octocat@example.com', primary: true, verified: true, visibility: 'private' },
          ],
        }),
      },
    },
    env: addresses('/user', { shape: githubPaths }),
    expected: { providerId: '583231', name: 'The Octocat', email: 'octocat@example.com', verified: true },
    asks: { scope: 'read:user user:email' },
  },

  gitlab: {
    shape: {
      ...gitlabPaths,
      tokenAuth: 'post',
      grant: (granted) =>
        bearer(granted, { refresh_token: 'r', created_at: 1_607_635_748, scope: 'read_user' }),
      refusal: { status: 400, json: { error: 'invalid_grant' } },
      api: {
        'GET /api/v4/user': () => ({
          json: {
            id: 1,
            username: 'john_smith',
            name: 'John Smith',
            email: 'john@example.com',
            confirmed_at: '2012-05-23T09:05:22Z',
          },
        }),
      },
    },
    env: (url) => ({ GITLAB_BASE_URL: `${url}/` }),
    expected: { providerId: '1', name: 'John Smith', email: 'john@example.com', verified: true },
    asks: { scope: 'read_user' },
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

  facebook: {
    shape: {
      ...facebookPaths,
      tokenAuth: 'post',
      grant: ({ accessToken: token }) => ({
        json: { access_token: token, token_type: 'bearer', expires_in: 5_183_944 },
      }),
      refusal: {
        status: 400,
        json: {
          error: {
            message: 'This authorization code has been used.',
            type: 'OAuthException',
            code: 100,
            fbtrace_id: 'x',
          },
        },
      },
      api: {
        'GET /v24.0/me': () => ({
          json: { id: '10158', name: 'Ada Lovelace', email: 'ada@example.com' },
        }),
      },
    },
    env: addresses('/v24.0/me?fields=id,name,email', { shape: facebookPaths }),
    expected: { providerId: '10158', name: 'Ada Lovelace', email: 'ada@example.com', verified: false },
    asks: { scope: 'email public_profile' },
  },

  discord: {
    shape: {
      ...discordPaths,
      tokenAuth: 'post',
      grant: (granted) =>
        bearer(granted, { expires_in: 604_800, refresh_token: 'r', scope: 'identify email' }),
      refusal: {
        status: 400,
        json: { error: 'invalid_grant', error_description: 'Invalid "code" in request.' },
      },
      api: {
        'GET /api/users/@me': () => ({
          json: {
            id: '80351110224678912',
            username: 'nelly',
            discriminator: '0',
            global_name: null,
            email: 'nelly@example.com',
            verified: true,
          },
        }),
      },
    },
    env: addresses('/api/users/@me', { shape: discordPaths }),
    expected: { providerId: '80351110224678912', name: 'nelly', email: 'nelly@example.com', verified: true },
    asks: { scope: 'identify email' },
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
    expected: { providerId: 'U123ABC456', name: 'brent', email: 'bront@example.com', verified: true },
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

  x: {
    shape: {
      ...xPaths,
      tokenAuth: 'basic',
      grant: (granted) => bearer(granted, { scope: 'users.read tweet.read users.email' }),
      refusal: {
        status: 400,
        json: { error: 'invalid_request', error_description: 'Value passed for the token' },
      },
      api: {
        'GET /2/users/me': () => ({
          json: { data: { id: '2244994945', name: 'X Dev', username: 'XDevelopers' } },
        }),
      },
    },
    env: addresses('/2/users/me?user.fields=id,name,username,confirmed_email', { shape: xPaths }),
    expected: { providerId: '2244994945', name: 'X Dev', email: null, verified: false },
    asks: { scope: 'users.read tweet.read users.email', code_challenge_method: 'S256' },
  },

  spotify: {
    shape: {
      ...spotifyPaths,
      tokenAuth: 'basic',
      grant: (granted) => bearer(granted, { scope: 'user-read-email', refresh_token: 'r' }),
      refusal: invalidGrant,
      api: {
        'GET /v1/me': () => ({
          json: { id: 'smedjan', display_name: 'Smedjan', email: 'smedjan@example.com', type: 'user' },
        }),
      },
    },
    env: addresses('/v1/me', { shape: spotifyPaths }),
    expected: { providerId: 'smedjan', name: 'Smedjan', email: 'smedjan@example.com', verified: false },
    asks: { scope: 'user-read-email' },
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
      claims: '{"id_token":{"email":null,"email_verified":null,"preferred_username":null}}',
    },
  },

  bitbucket: {
    shape: {
      ...bitbucketPaths,
      tokenAuth: 'basic',
      grant: (granted) => bearer(granted, { scopes: 'account email', state: 'authorization_code' }),
      refusal: invalidGrant,
      api: {
        'GET /2.0/user': () => ({
          json: {
            uuid: '{d4ac4fe7-5ac0-4f6f-9e60-3d7bb4d6ad5c}',
            account_id: '557058:1',
            username: 'evzijst',
            display_name: 'Erik van Zijst',
          },
        }),
        'GET /2.0/user/emails': () => ({
          json: {
            page: 1,
            values: [
              { email: 'other@example.com', is_primary: false, is_confirmed: true },
              { email: 'erik@example.com', is_primary: true, is_confirmed: true },
            ],
          },
        }),
      },
    },
    env: addresses('/2.0/user', { shape: bitbucketPaths }),
    expected: {
      providerId: '{d4ac4fe7-5ac0-4f6f-9e60-3d7bb4d6ad5c}',
      name: 'Erik van Zijst',
      email: 'erik@example.com',
      verified: true,
    },
    asks: { scope: 'account email' },
  },

  amazon: {
    shape: {
      ...amazonPaths,
      tokenAuth: 'post',
      grant: (granted) => bearer(granted, { refresh_token: 'Atzr|r' }),
      refusal: {
        status: 400,
        json: { error: 'invalid_grant', error_description: 'Code invalid', request_id: 'x' },
      },
      api: {
        'GET /user/profile': () => ({
          json: { user_id: 'amzn1.account.K2LI23KL2LK2', name: 'Mork Hashimoto', email: 'mork@example.com' },
        }),
      },
    },
    env: addresses('/user/profile', { shape: amazonPaths }),
    expected: {
      providerId: 'amzn1.account.K2LI23KL2LK2',
      name: 'Mork Hashimoto',
      email: 'mork@example.com',
      verified: false,
    },
    asks: { scope: 'profile' },
  },

  notion: {
    shape: {
      ...notionPaths,
      tokenAuth: 'basic',
      grant: (granted) => bearer(granted, { bot_id: 'b', workspace_id: 'w', owner: { type: 'user' } }),
      refusal: { status: 400, json: { error: 'invalid_grant', request_id: 'x' } },
      api: {
        'GET /v1/users/me': ({ headers }) =>
          headers['notion-version']
            ? {
                json: {
                  object: 'user',
                  id: '16d84278-ab0e-484c-9bdd-b35da3bd8905',
                  name: 'pied piper',
                  type: 'bot',
                  bot: {
                    owner: {
                      type: 'user',
                      user: {
                        object: 'user',
                        id: '5389a034-eb5c-47b5-8a9e-f79c99ef166c',
                        name: 'Christine Wang',
                        type: 'person',
                        person: { email: 'christine@example.com' },
                      },
                    },
                  },
                },
              }
            : { status: 400, json: { object: 'error', code: 'missing_version' } },
      },
    },
    env: addresses('/v1/users/me', { shape: notionPaths }),
    expected: {
      providerId: '5389a034-eb5c-47b5-8a9e-f79c99ef166c',
      name: 'Christine Wang',
      email: 'christine@example.com',
      verified: false,
    },
    asks: { owner: 'user' },
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

  dropbox: {
    shape: {
      ...dropboxPaths,
      tokenAuth: 'basic',
      grant: (granted) =>
        bearer(granted, { uid: '1', account_id: 'dbid:AAH4f99T0taONIb', scope: 'account_info.read' }),
      refusal: { status: 400, json: { error: 'invalid_grant', error_description: 'code has expired' } },
      api: {
        'POST /2/users/get_current_account': ({ body }) =>
          body === ''
            ? {
                json: {
                  account_id: 'dbid:AAH4f99T0taONIb',
                  name: { given_name: 'Franz', display_name: 'Franz Ferdinand (Personal)' },
                  email: 'franz@example.com',
                  email_verified: true,
                },
              }
            : { status: 400, text: 'Error in call: expected no body' },
      },
    },
    env: addresses('/2/users/get_current_account', { shape: dropboxPaths }),
    expected: {
      providerId: 'dbid:AAH4f99T0taONIb',
      name: 'Franz Ferdinand (Personal)',
      email: 'franz@example.com',
      verified: true,
    },
    asks: { scope: 'account_info.read' },
  },

  reddit: {
    shape: {
      ...redditPaths,
      tokenAuth: 'basic',
      accepts: ({ headers }) =>
        headers['user-agent']?.startsWith('web:') === true && headers.authorization !== undefined,
      grant: (granted) => bearer(granted, { scope: 'identity' }),
      refusal: { json: { error: 'invalid_grant' } },
      api: {
        'GET /api/v1/me': ({ headers }) =>
          headers['user-agent'] === 'web:com.example.app:v1.0 (by /u/ada)'
            ? { json: { id: 't2x', name: 'ada', has_verified_email: true } }
            : { status: 429, json: { message: 'Too Many Requests', error: 429 } },
      },
    },
    env: (url, prefix) => ({
      ...addresses('/api/v1/me', { shape: redditPaths })(url, prefix),
      [`${prefix}_USER_AGENT`]: 'web:com.example.app:v1.0 (by /u/ada)',
    }),
    expected: { providerId: 't2x', name: 'ada', email: null, verified: false },
    asks: { scope: 'identity' },
  },
}
