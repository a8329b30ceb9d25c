import type { ProfileDocument } from '../profile.ts'
import type { Preset } from './preset.ts'

/** The tenant that holds personal accounts (outlook.com, live.com). */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const placeholder = '{tenantid}'
/** What many people who do not belong together sign in to. */
const shared = new Set(['common', 'organizations', 'consumers', personal])

/**
 * Microsoft Entra ID. The documents of `common` and `organizations` name the issuer with a placeholder, and tokens name
 * the tenant that the user is of. Who a user is, is the pair of tenant and object id; anybody can put any address into
 * the e-mail claim of a tenant of their own ("nOAuth"), so it counts only when Microsoft says who owns the domain, or
 * when the one tenant that may sign in here is named.
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
        'Who may sign in: `common` (everybody), `organizations` (work and school), `consumers` (personal), or the id or domain of one tenant.',
      default: 'common',
      form: 'word',
    },
  },
  addresses: (own) => ({ issuer: `https://login.microsoftonline.com/${own('TENANT')}/v2.0` }),
  scope: 'openid profile email',
  tokenAuth: 'post',
  storedTokens: { scope: 'offline_access' },
  // `auth_time` is an optional claim, and the authentication contexts of Conditional Access are `acrs`: both come when
  // the request asks for them by name.
  demandParams: ({ acrValues }) => ({
    claims: JSON.stringify({
      id_token: {
        auth_time: { essential: true },
        ...(acrValues.length > 0 && { acrs: { essential: true, values: acrValues } }),
      },
    }),
  }),
  // Its userinfo endpoint is one of Graph, and knows less than the id_token: neither tenant nor object id.
  userinfo: false,
  discoveredIssuer: (found, asked) => {
    const pattern = /^(https?:\/\/.+\/)[^/]+(\/v2\.0)$/
    const [named, wanted] = [pattern.exec(found), pattern.exec(asked)]
    return named !== null && wanted !== null && named[1] === wanted[1]
  },
  tokenIssuer: ({ tid }, issuer) =>
    typeof tid === 'string' && guid.test(tid) ? issuer.replace(placeholder, tid) : issuer,
  answerIssuer: (named, issuer) => {
    const [before = '', after] = issuer.split(placeholder)
    if (after === undefined || !named.startsWith(before) || !named.endsWith(after)) return false
    return guid.test(named.slice(before.length, named.length - after.length))
  },
  admits: (claims, own, issuer) => {
    const { tid, oid } = claims
    if (typeof tid !== 'string' || !guid.test(tid) || typeof oid !== 'string') return false
    const tenant = own('TENANT').toLowerCase()
    if (tenant === 'organizations') return tid !== personal
    if (tenant === 'consumers') return tid === personal
    if (guid.test(tenant)) return tid === tenant
    // Of a tenant that is named by its domain only the issuer tells which one that is. With an issuer of `common` beside
    // it (`<NAME>_ISSUER`) nothing would, so then nobody is of it.
    return tenant === 'common' || (tid !== personal && issuer.includes(`/${tid}/`))
  },
  readProfile: ({ claims, own }) => ({
    id: `${String(claims['tid'])}:${String(claims['oid'])}`,
    name: claims['name'],
    email: claims['email'],
    emailVerified: !shared.has(own('TENANT').toLowerCase()) || ownsDomain(claims),
  }),
}

/** Both claims are optional ones that the application's registration asks for. */
function ownsDomain(claims: ProfileDocument): boolean {
  const { email, xms_edov: ownerVerified, verified_primary_email: primary } = claims
  // Written as a boolean, a number or a text, by the kind of the token.
  if ([true, 1, '1', 'true'].some((yes) => yes === ownerVerified)) return true
  return typeof email === 'string' && Array.isArray(primary) && primary.includes(email)
}
