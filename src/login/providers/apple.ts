import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import type { ReadPresetSetting, Preset } from './preset.ts'

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
