import { isObject } from '../../json/exact.ts'
import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import type { ReadPresetSetting, Preset, GroupSource } from './preset.ts'
import { list } from '../../config/readers.ts'
import { type ProfileDocument, findMarked, UnusableProfile } from '../provider-client/profile.ts'

const issuer = 'https://appleid.apple.com'
/** Seconds that a client secret is valid. Apple allows six months; it is used at once. */
const secretLifetime = 300

/**
 * Sign in with Apple. The client secret is a JWT that is signed with a key of the team for each request. With the scopes
 * `name` or `email`, the response is a POST from Apple's page; it contains the name only at the first sign-in. There is no
 * profile endpoint. The issuer and the addresses are pinned: for a day in June 2025 the discovery document had another issuer
 * than the tokens.
 */
export const apple: Preset = {
  label: 'Apple',
  colour: '#000000',
  documentation: [
    'https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple',
    'https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret',
    'https://developer.apple.com/documentation/signinwithapplerestapi/authenticating-users-with-sign-in-with-apple',
  ],
  settings: {
    TEAM_ID: { description: 'The ID of the developer team.', form: 'word' },
    KEY_ID: { description: 'The ID of the key for Sign in with Apple.', form: 'word' },
    PRIVATE_KEY: {
      description:
        'The private key: the whole PEM text of the .p8 file; line breaks may be written as `\\n`. Used if CLIENT_SECRET is not set.',
      form: 'text',
    },
  },
  endpoints: () => ({
    issuer,
    authUrl: `${issuer}/auth/authorize`,
    tokenUrl: `${issuer}/auth/token`,
    jwksUrl: `${issuer}/auth/keys`,
  }),
  scope: 'name email',
  tokenAuth: 'post',
  // It does not reauthenticate on request.
  provesAuthentication: false,
  authParams: () => ({ response_mode: 'form_post' }),
  signedSecret: {
    needs: ['TEAM_ID', 'KEY_ID', 'PRIVATE_KEY'],
    fault: (presetSetting) =>
      isP256(presetSetting)
        ? undefined
        : 'PRIVATE_KEY is not the PEM text of a P-256 private key: the .p8 file that Apple gave',
    sign: (presetSetting, clientId, now) => {
      const issued = Math.floor(now / 1000)
      const header = { alg: 'ES256', kid: presetSetting('KEY_ID') }
      const claims = {
        iss: presetSetting('TEAM_ID'),
        sub: clientId,
        aud: issuer,
        iat: issued,
        exp: issued + secretLifetime,
      }
      const content = [header, claims].map(encoded).join('.')
      // JWS concatenates the two numbers of the signature (RFC 7518, section 3.4).
      const key = { key: keyOf(presetSetting), dsaEncoding: 'ieee-p1363' } as const
      return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
    },
  },
  readProfile: ({ claims, givenName }) => ({
    id: claims['sub'],
    name: givenName,
    email: claims['email'],
    emailVerified: claims['email_verified'],
  }),
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function keyOf(presetSetting: ReadPresetSetting): KeyObject {
  return createPrivateKey(presetSetting('PRIVATE_KEY').replaceAll('\\n', '\n'))
}

function isP256(presetSetting: ReadPresetSetting): boolean {
  try {
    return keyOf(presetSetting).asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    // Not a key. The error message could contain a part of it.
    return false
  }
}

/** The tenant that holds personal accounts (outlook.com, live.com). */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const placeholder = '{tenantid}'
/** The values of TENANT that admit accounts of many organizations. */
const multiTenant = new Set(['common', 'organizations', 'consumers', personal])

/**
 * Microsoft Entra ID. The discovery documents of `common` and `organizations` have an issuer with a placeholder; tokens have
 * the issuer of the user's tenant. A user is identified by tenant id and object id. Anybody can set any e-mail address in their
 * own tenant ("nOAuth"), so an address counts as verified only if Microsoft confirms the owner of the domain, or if the
 * configuration admits one tenant only.
 */
export const microsoft: Preset = {
  label: 'Microsoft',
  colour: '#0067b8',
  documentation: [
    'https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc',
    'https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference',
    'https://learn.microsoft.com/en-us/entra/identity-platform/optional-claims-reference',
    'https://learn.microsoft.com/en-us/entra/identity-platform/migrate-off-email-claim-authorization',
    'https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc',
  ],
  settings: {
    TENANT: {
      description:
        'Accounts that can sign in: `common` (all), `organizations` (work and school), `consumers` (personal), or one tenant’s ID or domain.',
      default: 'common',
      form: 'word',
    },
    ALLOWED_TENANTS: {
      description:
        'With TENANT `organizations` or `common`: only accounts of the tenants with these IDs, comma-separated.',
      optional: true,
      form: 'guids',
    },
  },
  endpoints: (presetSetting) => ({
    issuer: `https://login.microsoftonline.com/${presetSetting('TENANT')}/v2.0`,
  }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  storedTokens: { scope: 'offline_access' },
  // `auth_time` is an optional claim, and the authentication contexts of Conditional Access are in `acrs`. Both are sent only
  // on request.
  demandParams: ({ acrValues }) => ({
    claims: JSON.stringify({
      id_token: {
        auth_time: { essential: true },
        ...(acrValues.length > 0 && { acrs: { essential: true, values: acrValues } }),
      },
    }),
  }),
  // Its userinfo endpoint is part of Graph and lacks the tenant id and the object id.
  userinfo: false,
  acceptsDiscoveredIssuer: (found, requested) => {
    const pattern = /^(https?:\/\/.+\/)[^/]+(\/v2\.0)$/
    const [named, wanted] = [pattern.exec(found), pattern.exec(requested)]
    return named !== null && wanted !== null && named[1] === wanted[1]
  },
  expectedTokenIssuer: ({ tid }, issuer) =>
    typeof tid === 'string' && guid.test(tid) ? issuer.replace(placeholder, tid) : issuer,
  acceptsResponseIssuer: (named, issuer) => {
    const [before = '', after] = issuer.split(placeholder)
    if (after === undefined || !named.startsWith(before) || !named.endsWith(after)) return false
    return guid.test(named.slice(before.length, named.length - after.length))
  },
  admits: (claims, presetSetting, issuer) => {
    const { tid, oid } = claims
    if (typeof tid !== 'string' || !guid.test(tid) || typeof oid !== 'string') return false
    const allowed = list(presetSetting('ALLOWED_TENANTS').toLowerCase())
    if (allowed.length > 0 && !allowed.includes(tid)) return false
    const tenant = presetSetting('TENANT').toLowerCase()
    if (tenant === 'organizations') return tid !== personal
    if (tenant === 'consumers') return tid === personal
    if (guid.test(tenant)) return tid === tenant
    // For a tenant that is configured by its domain, the issuer has its id. With the issuer of `common` (`<NAME>_ISSUER`) it
    // would be unknown, so nobody is admitted.
    return tenant === 'common' || (tid !== personal && issuer.includes(`/${tid}/`))
  },
  readProfile: ({ claims, presetSetting }) => ({
    id: `${String(claims['tid'])}:${String(claims['oid'])}`,
    name: claims['name'],
    email: claims['email'],
    emailVerified: !multiTenant.has(presetSetting('TENANT').toLowerCase()) || ownsDomain(claims),
  }),
}

/** Both claims are optional; the application's registration has to request them. */
function ownsDomain(claims: ProfileDocument): boolean {
  const { email, xms_edov: ownerVerified, verified_primary_email: primary } = claims
  // A boolean, a number or a string, depending on the type of token.
  if ([true, 1, '1', 'true'].some((yes) => yes === ownerVerified)) return true
  return typeof email === 'string' && Array.isArray(primary) && primary.includes(email)
}

const site = 'https://github.com'

/** The entries of a page, which is the most that GitHub gives, and the pages of one list that are read. */
const pageSize = 100
const maxPages = 10

/**
 * Plain OAuth 2.0 with PKCE S256 and `iss` since 2025. The id is a number. The profile has only a public e-mail address, so the
 * primary one is read from the list of addresses. If the token may not read the list (401, 403, 404), the sign-in continues
 * without an address. Groups are organizations (`acme`) and teams (`acme/operators`), both in lower case.
 */
export const github: Preset = {
  label: 'GitHub',
  colour: '#24292f',
  documentation: [
    'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    'https://docs.github.com/en/rest/users/emails',
    'https://docs.github.com/en/rest/orgs/orgs#list-organizations-for-the-authenticated-user',
    'https://docs.github.com/en/rest/teams/teams#list-teams-for-the-authenticated-user',
    'https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api#user-agent',
  ],
  settings: {
    BASE_URL: { description: 'The address of a GitHub Enterprise Server.', default: site, form: 'url' },
  },
  endpoints: (presetSetting) => {
    const base = presetSetting('BASE_URL')
    return {
      authUrl: `${base}/login/oauth/authorize`,
      tokenUrl: `${base}/login/oauth/access_token`,
      profileUrl: base === site ? 'https://api.github.com/user' : `${base}/api/v3/user`,
      // Older GitHub Enterprise Servers do not send it.
      ...(base === site && { expectedResponseIssuer: `${site}/login/oauth` }),
    }
  },
  scope: 'read:user user:email',
  groups: {
    scope: 'read:org',
    read: async ({ profileUrl, readNeeded }) => {
      const base = profileUrl.replace(/\/$/, '')
      const organizations = await readPages(`${base}/orgs`, readNeeded)
      const teams = await readPages(`${base}/teams`, readNeeded)
      return [
        ...organizations.map((one) => nameOf(one, 'login')),
        ...teams.map((one) => `${nameOf(one['organization'], 'login')}/${nameOf(one, 'slug')}`),
      ]
    },
  },
  headers: () => ({ 'x-github-api-version': '2022-11-28' }),
  readProfile: async ({ document, profileUrl, readMore }) => {
    const list = await readMore(`${profileUrl.replace(/\/$/, '')}/emails`)
    const listed = findMarked(list, 'primary')
    return {
      id: document['id'],
      name: document['name'] ?? document['login'],
      email: listed['email'] ?? document['email'],
      emailVerified: typeof listed['email'] === 'string' && listed['verified'] === true,
      isFallbackEmail: list === undefined,
      claims: {
        preferred_username: document['login'],
        profile: document['html_url'],
        website: document['blog'],
      },
    }
  },
}

async function readPages(
  url: string,
  readNeeded: GroupSource['readNeeded'],
): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = []
  for (let page = 1; page <= maxPages; page += 1) {
    const list = await readNeeded(`${url}?per_page=${pageSize}&page=${page}`)
    if (!Array.isArray(list)) throw new UnusableProfile('a list of the profile is no list')
    entries.push(...list.filter((entry) => isObject(entry)))
    if (list.length < pageSize) break
  }
  return entries
}

function nameOf(entry: unknown, field: string): string {
  const name = isObject(entry) ? entry[field] : undefined
  if (typeof name !== 'string') throw new UnusableProfile('an organization or a team has no name')
  return name.toLowerCase()
}

/** The issuer in tokens for older clients: without the scheme. Google documents both forms. */
const bareIssuer = 'accounts.google.com'

/** OpenID Connect. The request's `hd` is only a hint to Google, so the claim `hd` is checked. */
export const google: Preset = {
  label: 'Google',
  colour: '#4285f4',
  documentation: [
    'https://developers.google.com/identity/openid-connect/openid-connect',
    'https://developers.google.com/identity/protocols/oauth2/web-server',
    'https://developers.google.com/identity/siwg/security-bundle',
  ],
  settings: {
    HOSTED_DOMAIN: {
      description:
        'Limits sign-in to accounts of these Google Workspace domains, comma-separated; `*` for any Workspace.',
      optional: true,
      form: 'text',
    },
  },
  endpoints: () => ({ issuer: `https://${bareIssuer}` }),
  scope: 'openid email profile',
  tokenAuth: 'post',
  // Google sends a refresh token only after a consent.
  storedTokens: { authParams: { access_type: 'offline', prompt: 'consent' } },
  authParams: (presetSetting) => {
    const [first, ...more] = domainsOf(presetSetting)
    // Google takes one domain. The claim decides.
    return first === undefined ? {} : { hd: more.length === 0 ? first : '*' }
  },
  expectedTokenIssuer: ({ iss }, issuer) =>
    iss === bareIssuer && issuer === `https://${bareIssuer}` ? bareIssuer : issuer,
  identityNamespace: (named) => (named === bareIssuer ? `https://${bareIssuer}` : named),
  // It does not support `prompt=login`. Only verified applications get `auth_time` and `amr`:
  // https://developers.google.com/identity/siwg/security-bundle
  provesAuthentication: false,
  demandParams: ({ secondFactor }) =>
    secondFactor ? { claims: JSON.stringify({ id_token: { amr: { essential: true } } }) } : {},
  admits: ({ hd }, presetSetting) => {
    const domains = domainsOf(presetSetting)
    if (domains.length === 0) return true
    if (typeof hd !== 'string' || hd === '') return false
    return domains.includes('*') || domains.includes(hd.toLowerCase())
  },
}

function domainsOf(presetSetting: ReadPresetSetting): string[] {
  return list(presetSetting('HOSTED_DOMAIN').toLowerCase())
}
