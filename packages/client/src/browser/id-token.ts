import { errorOf, type PosternError } from '../errors.ts'
import { objectOfPart } from '../tokens/encoding.ts'

/** Who signed in (OpenID Connect Core, sections 2 and 5.1), as far as the scopes allow. */
export interface IdTokenClaims {
  readonly iss: string
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
  readonly picture?: string
  readonly [claim: string]: unknown
}

/** Seconds that clocks may differ. */
const tolerance = 300

export function readIdToken(token: string): IdTokenClaims {
  try {
    return objectOfPart(token.split('.')[1] ?? '') as IdTokenClaims
  } catch (cause) {
    throw refused('It is no JWT.', cause)
  }
}

/**
 * Checks an id_token that came from the token endpoint over TLS, which vouches for it in place of the signature (OpenID Connect
 * Core, section 3.1.3.7, rule 6). @throws PosternError `invalid-token`
 */
export function checkIdToken(
  token: string,
  wanted: { issuer: string; clientId: string; nonce: string },
): void {
  const { iss, aud, exp, nonce } = readIdToken(token)
  if (iss !== wanted.issuer) throw refused('Another issuer issued it.')
  if (![aud].flat().includes(wanted.clientId)) throw refused('It is for another app.')
  if (typeof exp !== 'number' || exp + tolerance <= Date.now() / 1000) throw refused('It has expired.')
  if (nonce !== wanted.nonce) throw refused('It is of another sign-in.')
}

function refused(reason: string, cause?: unknown): PosternError {
  return errorOf('invalid-token', 401, { detail: `The id_token is not accepted. ${reason}`, cause })
}
