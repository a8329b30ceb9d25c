import { list } from '../../config/readers.ts'
import type { ProfileDocument } from '../provider-client/profile.ts'
import type { Preset } from './preset.ts'

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
