import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { ProviderSettings } from '../../config/providers.ts'
import { pictureIn, toIdentity, type ProfileDocument } from '../provider-client/profile.ts'
import { presets } from './presets.ts'
import type { ResolvedProvider } from './resolved-provider.ts'
import { resolveProvider } from './resolve-provider.ts'

test('presets with an issuer declare tokenAuth', () => {
  for (const [name, preset] of Object.entries(presets)) {
    if (preset.endpoints(() => 'x').issuer !== undefined) assert.ok(preset.tokenAuth, name)
  }
})

const client = { clientId: 'id', clientSecret: 'secret' }

function resolved(settings: ProviderSettings): ResolvedProvider {
  const provider = resolveProvider(settings)
  assert.ok('kind' in provider, JSON.stringify(provider))
  return provider
}

function faults(settings: ProviderSettings): string {
  const provider = resolveProvider(settings)
  assert.ok('faults' in provider)
  return provider.faults.join('\n')
}

/** What each preset needs beside id and secret, and where it leads then: the issuer, or the three addresses. */
const table: Record<string, [own: Record<string, string>, ...addresses: string[]]> = {
  google: [{}, 'https://accounts.google.com'],
  github: [
    {},
    'https://github.com/login/oauth/authorize',
    'https://github.com/login/oauth/access_token',
    'https://api.github.com/user',
  ],
  gitlab: [
    {},
    'https://gitlab.com/oauth/authorize',
    'https://gitlab.com/oauth/token',
    'https://gitlab.com/api/v4/user',
  ],
  microsoft: [{}, 'https://login.microsoftonline.com/common/v2.0'],
  apple: [{}, 'https://appleid.apple.com'],
  facebook: [
    {},
    'https://www.facebook.com/v24.0/dialog/oauth',
    'https://graph.facebook.com/v24.0/oauth/access_token',
    'https://graph.facebook.com/v24.0/me?fields=id,name,first_name,middle_name,last_name,email,picture.type(large)',
  ],
  discord: [
    {},
    'https://discord.com/oauth2/authorize',
    'https://discord.com/api/oauth2/token',
    'https://discord.com/api/users/@me',
  ],
  slack: [{}, 'https://slack.com'],
  linkedin: [{}, 'https://www.linkedin.com/oauth'],
  x: [
    {},
    'https://x.com/i/oauth2/authorize',
    'https://api.x.com/2/oauth2/token',
    'https://api.x.com/2/users/me?user.fields=id,name,username,profile_image_url,confirmed_email',
  ],
  spotify: [
    {},
    'https://accounts.spotify.com/authorize',
    'https://accounts.spotify.com/api/token',
    'https://api.spotify.com/v1/me',
  ],
  twitch: [{}, 'https://id.twitch.tv/oauth2'],
  bitbucket: [
    {},
    'https://bitbucket.org/site/oauth2/authorize',
    'https://bitbucket.org/site/oauth2/access_token',
    'https://api.bitbucket.org/2.0/user',
  ],
  amazon: [
    {},
    'https://www.amazon.com/ap/oa',
    'https://api.amazon.com/auth/o2/token',
    'https://api.amazon.com/user/profile',
  ],
  notion: [
    {},
    'https://api.notion.com/v1/oauth/authorize',
    'https://api.notion.com/v1/oauth/token',
    'https://api.notion.com/v1/users/me',
  ],
  okta: [{ DOMAIN: 'acme.okta.com' }, 'https://acme.okta.com'],
  auth0: [{ DOMAIN: 'acme.eu.auth0.com' }, 'https://acme.eu.auth0.com/'],
  keycloak: [
    { BASE_URL: 'https://sso.acme.example/', REALM: 'shop' },
    'https://sso.acme.example/realms/shop',
  ],
  cognito: [
    { USER_POOL_ID: 'eu-west-1_AbCdEfGhI' },
    'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI',
  ],
  dropbox: [
    {},
    'https://www.dropbox.com/oauth2/authorize',
    'https://api.dropboxapi.com/oauth2/token',
    'https://api.dropboxapi.com/2/users/get_current_account',
  ],
  reddit: [
    {},
    'https://www.reddit.com/api/v1/authorize',
    'https://www.reddit.com/api/v1/access_token',
    'https://oauth.reddit.com/api/v1/me',
  ],
}

test('every preset resolves to a provider', () => {
  assert.deepEqual(Object.keys(table).toSorted(), Object.keys(presets).toSorted())
  for (const [name, [own, ...addresses]] of Object.entries(table)) {
    const provider = resolved({ name, ...client, own })
    const found =
      provider.kind === 'openid'
        ? [provider.issuer]
        : [provider.authUrl, provider.tokenUrl, provider.profileUrl]
    assert.deepEqual(found, addresses, name)
  }
})

test('every preset links the documentation of its provider, and its letter has enough contrast', () => {
  for (const [name, { documentation, colour, label }] of Object.entries(presets)) {
    assert.ok(
      documentation.every((page) => page.startsWith('https://')),
      name,
    )
    assert.match(colour, /^#[0-9a-f]{6}$/, name)
    assert.notEqual(label, '', name)
  }
})

test('each address of each preset can be replaced', () => {
  const own = {
    issuer: 'https://p.example',
    authUrl: 'https://p.example/a',
    tokenUrl: 'https://p.example/t',
    profileUrl: 'https://p.example/p',
    jwksUrl: 'https://p.example/k',
  }
  for (const [name, [settings]] of Object.entries(table)) {
    for (const key of ['authUrl', 'tokenUrl', 'profileUrl'] as const) {
      assert.equal(resolved({ name, ...client, own: settings, [key]: own[key] })[key], own[key], name)
    }
    const whole = resolved({ name, ...client, ...own })
    assert.ok(whole.kind === 'openid')
    for (const key of Object.keys(own) as (keyof typeof own)[]) assert.equal(whole[key], own[key], name)
    assert.equal(resolved({ name, ...client, own: settings, scope: 'openid other' }).scope, 'openid other')
  }
})

test('Apple: another issuer has other addresses; the preset needs no discovery', () => {
  const apple = resolved({ name: 'apple', ...client })
  assert.ok(apple.kind === 'openid')
  assert.equal(apple.jwksUrl, 'https://appleid.apple.com/auth/keys')
  const moved = resolved({ name: 'apple', ...client, issuer: 'https://account.apple.com' })
  assert.ok(moved.kind === 'openid')
  assert.equal(moved.jwksUrl, undefined)
})

test('Apple: without a secret, the settings that create one are required and validated', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const apple = (own: Record<string, string>) => ({ name: 'apple', clientId: 'id', own })
  const all = { TEAM_ID: 'T', KEY_ID: 'K', PRIVATE_KEY: pem.replaceAll('\n', '\\n') }
  assert.equal(resolved(apple(all)).clientSecret, undefined)
  assert.equal(resolved(apple({ ...all, PRIVATE_KEY: pem })).name, 'apple')
  const missing = faults(apple({ KEY_ID: 'K' }))
  for (const name of ['APPLE_TEAM_ID', 'APPLE_PRIVATE_KEY']) assert.ok(missing.includes(name), name)
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  for (const wrong of ['nonsense', pem.slice(0, 60), other.export({ type: 'pkcs8', format: 'pem' })]) {
    const found = faults(apple({ ...all, PRIVATE_KEY: wrong }))
    assert.match(found, /^APPLE_PRIVATE_KEY /)
    assert.ok(!found.includes(wrong), 'the key is not shown')
  }
})

test('a missing or wrong setting of a preset is a fault that names it', () => {
  assert.match(faults({ name: 'okta', ...client }), /^OKTA_CLIENT_ID needs OKTA_DOMAIN, or OKTA_ISSUER/)
  assert.match(faults({ name: 'keycloak', ...client }), /KEYCLOAK_BASE_URL and KEYCLOAK_REALM/)
  for (const DOMAIN of ['https://acme.okta.com', 'acme.okta.com/evil', 'a@b.example', 'acme', 'a.b\r\nc']) {
    assert.match(faults({ name: 'okta', ...client, own: { DOMAIN } }), /^OKTA_DOMAIN is wrong/, DOMAIN)
  }
  for (const BASE_URL of ['ftp://a.example', 'a.example', 'https://a.example/?x=1', 'https://a.example/#x']) {
    assert.match(
      faults({ name: 'gitlab', ...client, own: { BASE_URL } }),
      /^GITLAB_BASE_URL is wrong/,
      BASE_URL,
    )
  }
  assert.match(
    faults({ name: 'microsoft', ...client, own: { TENANT: '../x' } }),
    /^MICROSOFT_TENANT is wrong/,
  )
  const okta = resolved({ name: 'okta', ...client, own: { DOMAIN: 'acme.okta.com', SERVER: 'default' } })
  assert.ok(okta.kind === 'openid' && okta.issuer === 'https://acme.okta.com/oauth2/default')
})

test('self-hosted servers: GitHub Enterprise, GitLab', () => {
  const own = { BASE_URL: 'https://git.acme.example' }
  const github = resolved({ name: 'github', ...client, own })
  assert.equal(github.profileUrl, 'https://git.acme.example/api/v3/user')
  assert.ok(github.kind === 'oauth' && github.hasConfiguredAuthUrl, 'it need not send its issuer')
  assert.equal(
    resolved({ name: 'gitlab', ...client, own }).authUrl,
    'https://git.acme.example/oauth/authorize',
  )
})

test('without PKCE a secret is required', () => {
  assert.match(faults({ name: 'linkedin', clientId: 'id' }), /^LINKEDIN_CLIENT_SECRET is missing/)
  assert.match(faults({ name: 'x', clientId: 'id', pkce: false }), /^X_CLIENT_SECRET is missing/)
  assert.equal(resolved({ name: 'x', clientId: 'id' }).pkce, true)
  assert.equal(resolved({ name: 'linkedin', ...client, pkce: true }).pkce, true)
})

test('configuration cannot set parameters of the flow', () => {
  for (const parameter of [
    'state',
    'redirect_uri',
    'client_id',
    'code_challenge',
    'nonce',
    'scope',
    'request',
  ]) {
    const authParams = { [parameter]: 'x' }
    assert.match(
      faults({ name: 'google', ...client, authParams }),
      new RegExp(`GOOGLE_AUTH_PARAMS.*${parameter}`),
    )
    const authUrl = `https://p.example/?${parameter}=x`
    assert.match(faults({ name: 'google', ...client, authUrl }), new RegExp(`GOOGLE_AUTH_URL: ${parameter}`))
  }
  const authParams = { prompt: 'consent', access_type: 'offline' }
  assert.deepEqual(resolved({ name: 'google', ...client, authParams }).authParams, authParams)
})

test('response_mode may be one whose response reaches the service', () => {
  for (const mode of ['query', 'form_post'])
    assert.equal(
      resolved({ name: 'google', ...client, authParams: { response_mode: mode } }).authParams[
        'response_mode'
      ],
      mode,
    )
  for (const mode of ['fragment', 'web_message', 'query.jwt'])
    assert.match(
      faults({ name: 'google', ...client, authParams: { response_mode: mode } }),
      new RegExp(`GOOGLE_AUTH_PARAMS.*response_mode=${mode} cannot be used`),
    )
  const authUrl = 'https://p.example/?response_mode=fragment'
  assert.match(faults({ name: 'google', ...client, authUrl }), /response_mode=fragment cannot be used/)
})

/** The identity in a profile, as toIdentity stores it. */
async function identityIn(name: string, document: ProfileDocument, claims: ProfileDocument = {}) {
  const raw = await presets[name]!.readProfile?.({
    claims,
    document,
    profileUrl: '',
    readMore: () => Promise.resolve(undefined),
    presetSetting: () => '',
    givenName: undefined,
  })
  return toIdentity(name, { picture: pictureIn(document), claims: document, ...raw!, id: '1' })
}

async function pictureOf(...profile: Parameters<typeof identityIn>) {
  return (await identityIn(...profile)).picture
}

test('pictures are where each provider documents them', async () => {
  const url = 'https://img.example/ada.png'
  const notion = {
    bot: { owner: { user: { id: '1', avatar_url: url } } },
    avatar_url: 'https://n.example/bot.png',
  }
  const documents: Record<string, ProfileDocument> = {
    facebook: { id: '1', picture: { data: { height: 200, is_silhouette: false, url, width: 200 } } },
    x: { data: { id: '1', profile_image_url: url } },
    spotify: {
      id: '1',
      images: [{ url, height: 300, width: 300 }, { url: 'https://img.example/small.png' }],
    },
    dropbox: { account_id: '1', profile_photo_url: url },
    bitbucket: { uuid: '{1}', links: { avatar: { href: url } } },
    github: { id: 1, avatar_url: url },
    gitlab: { id: 1, avatar_url: url },
    // That of the document belongs to the integration.
    notion,
  }
  for (const [name, document] of Object.entries(documents)) {
    assert.equal(await pictureOf(name, document), url, name)
    assert.equal(await pictureOf(name, { id: '1' }), null, name)
  }
  assert.equal(await pictureOf('twitch', { picture: url }, { sub: '1', picture: url }), url)
  assert.equal(
    await pictureOf('discord', { id: '80351110224678912', avatar: '8342729096ea3675442027381ff50dfe' }),
    'https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png',
  )
  assert.equal(await pictureOf('discord', { id: '1', avatar: null }), null)
  assert.equal(
    await pictureOf('reddit', { id: '1', icon_img: 'https://styles.example/a.png?width=256&amp;s=abc' }),
    'https://styles.example/a.png?width=256&s=abc',
  )
  assert.equal(await pictureOf('reddit', { id: '1' }), null)
})

test('claims are where each provider documents them', async () => {
  const page = 'https://p.example/ada'
  const documents: Record<string, [ProfileDocument, object]> = {
    github: [
      { id: 1, login: 'ada', html_url: page, blog: 'ada.example' },
      { preferred_username: 'ada', profile: page },
    ],
    gitlab: [
      { id: 1, username: 'ada', web_url: page, website_url: 'https://ada.example' },
      { preferred_username: 'ada', profile: page, website: 'https://ada.example/' },
    ],
    discord: [
      { id: '1', username: 'ada', locale: 'en-GB' },
      { preferred_username: 'ada', locale: 'en-GB' },
    ],
    x: [{ data: { id: '1', username: 'ada' } }, { preferred_username: 'ada' }],
    reddit: [{ id: '1', name: 'ada' }, { preferred_username: 'ada' }],
    spotify: [{ id: '1', external_urls: { spotify: page } }, { profile: page }],
    bitbucket: [
      { uuid: '{1}', nickname: 'Ada', links: { html: { href: page } } },
      { nickname: 'Ada', profile: page },
    ],
    facebook: [
      { id: '1', first_name: 'Ada', middle_name: 'King', last_name: 'Lovelace' },
      { given_name: 'Ada', middle_name: 'King', family_name: 'Lovelace' },
    ],
    dropbox: [
      { account_id: '1', name: { given_name: 'Ada', surname: 'Lovelace' }, locale: 'en' },
      { given_name: 'Ada', family_name: 'Lovelace', locale: 'en' },
    ],
    amazon: [{ user_id: '1', name: 'Ada' }, {}],
    // OpenID Connect: the standard names.
    slack: [
      { given_name: 'Ada', family_name: 'Lovelace', locale: 'en-US' },
      { given_name: 'Ada', family_name: 'Lovelace', locale: 'en-US' },
    ],
    microsoft: [{ preferred_username: 'ada@acme.example' }, { preferred_username: 'ada@acme.example' }],
  }
  for (const [name, [document, expected]] of Object.entries(documents))
    assert.deepEqual((await identityIn(name, document)).claims, expected, name)
})
