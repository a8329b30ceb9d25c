import { isObject } from '../../json/exact.ts'
import { apple, microsoft, github, google } from './coded-presets.ts'
import type { Preset } from './preset.ts'
import { findMarked, type ProfileDocument, UnusableProfile } from '../provider-client/profile.ts'
import { createHmac } from 'node:crypto'

const at = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Twitch includes only claims in the id_token that are requested by name. */
const requested = { email: null, email_verified: null, preferred_username: null, picture: null }

const teamId = 'https://slack.com/team_id'

/** The presets by their names in the settings. They need only a client id and a secret, and some a few own settings. */
export const presets: Readonly<Record<string, Preset>> = {
  google,
  github,

  /**
   * Plain OAuth 2.0. The id is a number. An address is confirmed when the user's `confirmed_at` is set. Groups are full paths
   * (`acme/operators`) in lower case, those above a subgroup included.
   */
  gitlab: {
    label: 'GitLab',
    colour: '#fc6d26',
    documentation: [
      'https://docs.gitlab.com/api/oauth2/',
      'https://docs.gitlab.com/api/users/',
      'https://docs.gitlab.com/integration/openid_connect_provider/',
    ],
    settings: {
      BASE_URL: {
        description: 'The address of a self-managed GitLab.',
        default: 'https://gitlab.com',
        form: 'url',
      },
    },
    endpoints: (presetSetting) => ({
      authUrl: `${presetSetting('BASE_URL')}/oauth/authorize`,
      tokenUrl: `${presetSetting('BASE_URL')}/oauth/token`,
      profileUrl: `${presetSetting('BASE_URL')}/api/v4/user`,
    }),
    scope: 'read_user',
    groups: {
      // The userinfo needs no right to read the groups themselves, as the list of groups does.
      scope: 'openid',
      read: async ({ profileUrl, readNeeded }) => {
        const userinfo = await readNeeded(profileUrl.replace(/\/api\/v4\/user\/?$/, '/oauth/userinfo'))
        const groups = isObject(userinfo) ? userinfo['groups'] : undefined
        if (!Array.isArray(groups)) throw new UnusableProfile('the userinfo has no list of groups')
        return groups.map((group) => String(group).toLowerCase())
      },
    },
    readProfile: ({ document }) => ({
      id: document['id'],
      name: document['name'] ?? document['username'],
      email: document['email'],
      emailVerified: typeof document['confirmed_at'] === 'string' && document['confirmed_at'] !== '',
      claims: {
        preferred_username: document['username'],
        profile: document['web_url'],
        website: document['website_url'],
      },
    }),
  },

  microsoft,
  apple,

  /**
   * Plain OAuth 2.0 on the Graph API, whose versions expire after about two years. Errors are objects. Calls with a token carry
   * a proof of the application's secret. It does not tell whether an e-mail address is verified.
   */
  facebook: {
    label: 'Facebook',
    colour: '#0866ff',
    documentation: [
      'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow',
      'https://developers.facebook.com/docs/graph-api/guides/secure-requests',
      'https://developers.facebook.com/docs/graph-api/guides/versioning',
    ],
    settings: {
      GRAPH_VERSION: { description: 'The version of the Graph API.', default: 'v24.0', form: 'word' },
    },
    endpoints: (presetSetting) => ({
      authUrl: `https://www.facebook.com/${presetSetting('GRAPH_VERSION')}/dialog/oauth`,
      tokenUrl: `https://graph.facebook.com/${presetSetting('GRAPH_VERSION')}/oauth/access_token`,
      profileUrl: `https://graph.facebook.com/${presetSetting('GRAPH_VERSION')}/me?fields=id,name,first_name,middle_name,last_name,email,picture.type(large)`,
    }),
    scope: 'email public_profile',
    tokenAuth: 'post',
    // It then asks for the password, but its response does not prove that.
    demandParams: () => ({ auth_type: 'reauthenticate' }),
    profileRequest: (token, clientSecret) =>
      clientSecret === undefined
        ? {}
        : { query: { appsecret_proof: createHmac('sha256', clientSecret).update(token).digest('hex') } },
    readProfile: ({ document }) => ({
      id: document['id'],
      name: document['name'],
      email: document['email'],
      claims: {
        given_name: document['first_name'],
        middle_name: document['middle_name'],
        family_name: document['last_name'],
      },
    }),
  },

  /** Plain OAuth 2.0. Ids are strings of digits; the display name may be unset. */
  discord: {
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
      claims: { preferred_username: document['username'], locale: document['locale'] },
    }),
  },

  /**
   * OpenID Connect. A user is identified by workspace id and user id: `sub` is unique only within the workspace, and Slack says
   * to store it together with `team_id` (page of the user object). In an enterprise organization a person therefore has one
   * identity for each workspace, and can link them. The request's `team` is only a hint to Slack, so the claim is checked. Errors
   * have status 200.
   */
  slack: {
    label: 'Slack',
    colour: '#4a154b',
    documentation: [
      'https://docs.slack.dev/authentication/sign-in-with-slack/',
      'https://docs.slack.dev/reference/objects/user-object/',
      'https://docs.slack.dev/reference/methods/openid.connect.token/',
    ],
    settings: {
      TEAM: {
        description: 'Limits sign-in to members of the workspace with this ID (`T…`).',
        optional: true,
        form: 'word',
      },
    },
    endpoints: () => ({ issuer: 'https://slack.com' }),
    scope: 'openid profile email',
    tokenAuth: 'post',
    // It does not reauthenticate people who have a session.
    provesAuthentication: false,
    authParams: (presetSetting) => (presetSetting('TEAM') === '' ? {} : { team: presetSetting('TEAM') }),
    admits: (claims, presetSetting) =>
      presetSetting('TEAM') === '' || claims[teamId] === presetSetting('TEAM'),
    readProfile: ({ claims, document }) => ({
      id: isId(claims[teamId]) && isId(claims['sub']) ? `${claims[teamId]}:${claims['sub']}` : undefined,
      name: document['name'],
      email: document['email'],
      emailVerified: document['email_verified'],
    }),
  },

  /**
   * OpenID Connect without PKCE and nonce, so the flow relies on the state, the provider's own callback URL and the issuer of the
   * id_token. It reads the secret only from the body. `email_verified` may be absent.
   */
  linkedin: {
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
  },

  /**
   * Plain OAuth 2.0 with required PKCE and the secret in the header. The profile is below `data`; without `tweet.read` the
   * request gets 403. The e-mail address is present only if it is confirmed, and often missing.
   */
  x: {
    label: 'X',
    colour: '#000000',
    documentation: [
      'https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code',
      'https://docs.x.com/x-api/users/get-my-user',
    ],
    endpoints: () => ({
      // On twitter.com, users would have to sign in again.
      authUrl: 'https://x.com/i/oauth2/authorize',
      tokenUrl: 'https://api.x.com/2/oauth2/token',
      profileUrl:
        'https://api.x.com/2/users/me?user.fields=id,name,username,profile_image_url,confirmed_email',
    }),
    scope: 'users.read tweet.read users.email',
    tokenAuth: 'basic',
    storedTokens: { scope: 'offline.access' },
    readProfile: ({ document: { data } }) => {
      const user = isObject(data) ? data : {}
      return {
        id: user['id'],
        name: user['name'] ?? user['username'],
        email: user['confirmed_email'],
        emailVerified: typeof user['confirmed_email'] === 'string',
        picture: user['profile_image_url'],
        claims: { preferred_username: user['username'] },
      }
    },
  },

  /** Plain OAuth 2.0. Its reference says that the e-mail address is not verified. */
  spotify: {
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
      picture: firstImage(document['images']),
      claims: { profile: at(document['external_urls'], 'spotify') },
    }),
  },

  /**
   * OpenID Connect. The `scope` of its token response is an array, and errors have a `message` instead of `error`;
   * code-exchange.ts handles both.
   */
  twitch: {
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
  },

  /**
   * Plain OAuth 2.0 with the secret in the header. The account's `uuid` is its stable id. E-mail addresses are in a separate
   * list, for the scope `email`. PKCE is not documented; unknown parameters are ignored.
   */
  bitbucket: {
    label: 'Bitbucket',
    colour: '#0052cc',
    documentation: [
      'https://developer.atlassian.com/cloud/bitbucket/oauth-2/',
      'https://developer.atlassian.com/cloud/bitbucket/rest/api-group-users/',
    ],
    endpoints: () => ({
      authUrl: 'https://bitbucket.org/site/oauth2/authorize',
      tokenUrl: 'https://bitbucket.org/site/oauth2/access_token',
      profileUrl: 'https://api.bitbucket.org/2.0/user',
    }),
    scope: 'account email',
    tokenAuth: 'basic',
    readProfile: async ({ document, profileUrl, readMore }) => {
      const page = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
      const list: unknown = isObject(page) ? (page['values'] ?? page) : page
      const { links } = document
      const listed = findMarked(list, 'is_primary')
      return {
        id: document['uuid'],
        name: document['display_name'],
        email: listed['email'],
        emailVerified: listed['is_confirmed'] === true,
        picture: at(at(links, 'avatar'), 'href'),
        claims: { nickname: document['nickname'], profile: at(at(links, 'html'), 'href') },
      }
    },
  },

  /** Login with Amazon: plain OAuth 2.0. It does not tell whether an e-mail address is verified. */
  amazon: {
    label: 'Amazon',
    colour: '#b35900',
    documentation: [
      'https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html',
      'https://developer.amazon.com/docs/login-with-amazon/obtain-customer-profile.html',
    ],
    endpoints: () => ({
      authUrl: 'https://www.amazon.com/ap/oa',
      tokenUrl: 'https://api.amazon.com/auth/o2/token',
      profileUrl: 'https://api.amazon.com/user/profile',
    }),
    scope: 'profile',
    tokenAuth: 'post',
    readProfile: ({ document }) => ({
      id: document['user_id'],
      name: document['name'],
      email: document['email'],
    }),
  },

  /**
   * Plain OAuth 2.0 for an integration: the profile is the bot's, and its owner is the person who authorized it. There are no
   * scopes. Every call has the API version. It does not tell whether an e-mail address is verified.
   */
  notion: {
    label: 'Notion',
    colour: '#191919',
    documentation: [
      'https://developers.notion.com/docs/authorization',
      'https://developers.notion.com/reference/get-self',
      'https://developers.notion.com/reference/versioning',
    ],
    endpoints: () => ({
      authUrl: 'https://api.notion.com/v1/oauth/authorize',
      tokenUrl: 'https://api.notion.com/v1/oauth/token',
      profileUrl: 'https://api.notion.com/v1/users/me',
    }),
    scope: '',
    tokenAuth: 'basic',
    authParams: () => ({ owner: 'user' }),
    headers: () => ({ 'notion-version': '2022-06-28' }),
    readProfile: ({ document }) => {
      // The bot of a workspace has no `user`, and so no id.
      const user = at(at(document['bot'], 'owner'), 'user')
      return {
        id: at(user, 'id'),
        name: at(user, 'name'),
        email: at(at(user, 'person'), 'email'),
        // That of the document belongs to the integration.
        picture: at(user, 'avatar_url'),
      }
    },
  },

  /** OpenID Connect of an organization, or of one of its authorization servers. */
  okta: {
    label: 'Okta',
    colour: '#00297a',
    documentation: [
      'https://developer.okta.com/docs/guides/implement-grant-type/authcode/main/',
      'https://developer.okta.com/docs/reference/api/oidc/',
      'https://developer.okta.com/docs/guides/refresh-tokens/main/',
    ],
    settings: {
      DOMAIN: { description: 'The domain of the organization: `example.okta.com`.', form: 'host' },
      SERVER: {
        description: 'The ID of an authorization server, such as `default`. Default: the organization’s own.',
        optional: true,
        form: 'word',
      },
    },
    endpoints: (presetSetting) => {
      const organization = `https://${presetSetting('DOMAIN')}`
      return {
        issuer:
          presetSetting('SERVER') === '' ? organization : `${organization}/oauth2/${presetSetting('SERVER')}`,
      }
    },
    scope: 'openid profile email',
    tokenAuth: 'basic',
    storedTokens: { scope: 'offline_access' },
  },

  /** OpenID Connect; the issuer ends with a slash. */
  auth0: {
    label: 'Auth0',
    colour: '#d14a1f',
    documentation: [
      'https://auth0.com/docs/get-started/authentication-and-authorization-flow/authorization-code-flow',
      'https://auth0.com/docs/get-started/applications/configure-applications-with-oidc-discovery',
      'https://auth0.com/docs/secure/tokens/refresh-tokens/get-refresh-tokens',
    ],
    settings: {
      DOMAIN: {
        description: 'The domain of the tenant: `example.eu.auth0.com`, or a custom domain.',
        form: 'host',
      },
    },
    endpoints: (presetSetting) => ({ issuer: `https://${presetSetting('DOMAIN')}/` }),
    scope: 'openid profile email',
    tokenAuth: 'post',
    storedTokens: { scope: 'offline_access' },
  },

  /** OpenID Connect of a realm. */
  keycloak: {
    label: 'Keycloak',
    colour: '#00698f',
    documentation: ['https://www.keycloak.org/securing-apps/oidc-layers'],
    settings: {
      BASE_URL: { description: 'The address of the server: `https://sso.example.com`.', form: 'url' },
      REALM: { description: 'The name of the realm.', form: 'word' },
    },
    endpoints: (presetSetting) => ({
      issuer: `${presetSetting('BASE_URL')}/realms/${encodeURIComponent(presetSetting('REALM'))}`,
    }),
    scope: 'openid profile email',
    tokenAuth: 'post',
  },

  /**
   * OpenID Connect of a user pool, whose id starts with the region. The issuer is Amazon's; the pages and the token endpoint are
   * on the pool's own domain (discovered). `email_verified` may be the string "true".
   */
  cognito: {
    label: 'Cognito',
    colour: '#a32035',
    documentation: [
      'https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html',
      'https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html',
    ],
    settings: {
      USER_POOL_ID: { description: 'The ID of the user pool: `eu-west-1_AbCdEfGhI`.', form: 'word' },
    },
    endpoints: (presetSetting) => {
      const [region = ''] = presetSetting('USER_POOL_ID').split('_')
      return { issuer: `https://cognito-idp.${region}.amazonaws.com/${presetSetting('USER_POOL_ID')}` }
    },
    scope: 'openid profile email',
    tokenAuth: 'basic',
  },

  /** Plain OAuth 2.0. The profile is fetched by POST without a body; the name is an object. */
  dropbox: {
    label: 'Dropbox',
    colour: '#0061fe',
    documentation: [
      'https://developers.dropbox.com/oauth-guide',
      'https://www.dropbox.com/developers/documentation/http/documentation#users-get_current_account',
    ],
    endpoints: () => ({
      authUrl: 'https://www.dropbox.com/oauth2/authorize',
      tokenUrl: 'https://api.dropboxapi.com/oauth2/token',
      profileUrl: 'https://api.dropboxapi.com/2/users/get_current_account',
    }),
    scope: 'account_info.read',
    tokenAuth: 'basic',
    // It then asks for the password, but its response does not prove that.
    demandParams: () => ({ force_reauthentication: 'true' }),
    storedTokens: { authParams: { token_access_type: 'offline' } },
    profileRequest: () => ({ method: 'POST' }),
    readProfile: ({ document }) => ({
      id: document['account_id'],
      name: at(document['name'], 'display_name'),
      email: document['email'],
      emailVerified: document['email_verified'],
      picture: document['profile_photo_url'],
      claims: {
        given_name: at(document['name'], 'given_name'),
        family_name: at(document['name'], 'surname'),
        locale: document['locale'],
      },
    }),
  },

  /**
   * Plain OAuth 2.0 with the secret in the header. There is no e-mail address. Calls whose User-Agent does not name the
   * application are throttled or refused. Errors have status 200.
   */
  reddit: {
    label: 'Reddit',
    colour: '#d93900',
    documentation: [
      'https://github.com/reddit-archive/reddit/wiki/OAuth2',
      'https://github.com/reddit-archive/reddit/wiki/API',
    ],
    settings: {
      USER_AGENT: {
        description:
          'The User-Agent, which names the application: `web:com.example.app:v1.0 (by /u/somebody)`.',
        default: 'web:postern:v0.1.0',
        form: 'text',
      },
    },
    endpoints: () => ({
      authUrl: 'https://www.reddit.com/api/v1/authorize',
      tokenUrl: 'https://www.reddit.com/api/v1/access_token',
      profileUrl: 'https://oauth.reddit.com/api/v1/me',
    }),
    scope: 'identity',
    tokenAuth: 'basic',
    storedTokens: { authParams: { duration: 'permanent' } },
    headers: (presetSetting) => ({ 'user-agent': presetSetting('USER_AGENT') }),
    readProfile: ({ document, document: { icon_img: icon } }) => ({
      id: document['id'],
      name: document['name'],
      email: undefined,
      // Reddit writes the address as HTML.
      picture: typeof icon === 'string' ? icon.replaceAll('&amp;', '&') : undefined,
      claims: { preferred_username: document['name'] },
    }),
  },
}

/** Spotify lists the widest image first. */
function firstImage(images: unknown): unknown {
  const [first] = Array.isArray(images) ? (images as unknown[]) : []
  return isObject(first) ? first['url'] : undefined
}

/** For Slack: without a colon, so that different pairs give different ids. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^\w+$/.test(value)
}

/** Discord's profile has only the hash of the picture. */
function avatarOf({ id, avatar }: ProfileDocument): string | undefined {
  return typeof avatar === 'string'
    ? `https://cdn.discordapp.com/avatars/${String(id)}/${avatar}.png`
    : undefined
}
