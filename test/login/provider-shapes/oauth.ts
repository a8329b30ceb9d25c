// Plain OAuth 2.0 providers, by their documentation (the pages are cited in src/login/providers/*).
import { addresses, bearer, invalidGrant, type ProviderCase } from './case.ts'

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

export const oauthProviders: Record<string, ProviderCase> = {
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
    env: addresses('/user', githubPaths),
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
    env: addresses(
      '/v24.0/me?fields=id,name,first_name,middle_name,last_name,email,picture.type(large)',
      facebookPaths,
    ),
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
    env: addresses('/api/users/@me', discordPaths),
    expected: { providerId: '80351110224678912', name: 'nelly', email: 'nelly@example.com', verified: true },
    asks: { scope: 'identify email' },
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
    env: addresses('/2/users/me?user.fields=id,name,username,confirmed_email', xPaths),
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
    env: addresses('/v1/me', spotifyPaths),
    expected: { providerId: 'smedjan', name: 'Smedjan', email: 'smedjan@example.com', verified: false },
    asks: { scope: 'user-read-email' },
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
    env: addresses('/2.0/user', bitbucketPaths),
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
    env: addresses('/user/profile', amazonPaths),
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
    env: addresses('/v1/users/me', notionPaths),
    expected: {
      providerId: '5389a034-eb5c-47b5-8a9e-f79c99ef166c',
      name: 'Christine Wang',
      email: 'christine@example.com',
      verified: false,
    },
    asks: { owner: 'user' },
  },

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
    env: addresses('/2/users/get_current_account', dropboxPaths),
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
      ...addresses('/api/v1/me', redditPaths)(url, prefix),
      [`${prefix}_USER_AGENT`]: 'web:com.example.app:v1.0 (by /u/ada)',
    }),
    expected: { providerId: 't2x', name: 'ada', email: null, verified: false },
    asks: { scope: 'identity' },
  },
}
