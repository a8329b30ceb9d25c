import { list } from '../../config/readers.ts'
import type { Preset, ReadPresetSetting } from './preset.ts'

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
