import { Type } from 'typebox'
import type { AccessTokens } from '../../accounts/tokens/access-tokens.ts'
import type { Client } from '../clients/client.ts'
import type { Granted } from './grants.ts'
import type { IdTokens } from './id-tokens.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

/** The answer of the token endpoint (RFC 6749, section 5.1; OpenID Connect Core, section 3.1.3.3). */
export const TokenAnswer = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds' }),
  refresh_token: Type.Optional(Type.String()),
  id_token: optionalText('With the scope `openid`'),
  scope: optionalText('The granted scopes, separated by spaces'),
})

export interface TokenResponseParts {
  accessTokens: AccessTokens
  idTokens: IdTokens
}

/** Signs the tokens of a grant. */
export async function tokenResponse(
  { accessTokens, idTokens }: TokenResponseParts,
  client: Client,
  { family, refreshToken, nonce, scope, resource }: Granted,
) {
  const { token, expiresIn } = await accessTokens.issue({
    clientId: client.id,
    subject: family?.userId ?? client.id,
    familyId: family?.familyId,
    authenticatedAt: family?.authenticatedAt,
    familyEnds: family?.expiresAt,
    acr: family?.acr ?? null,
    amr: family?.amr ?? null,
    scope,
    resource,
  })
  const wantsIdToken = family !== undefined && scope?.split(' ').includes('openid') === true
  const idToken = wantsIdToken
    ? await idTokens.issue(client, { ...family, scope }, { nonce, accessToken: token })
    : undefined
  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: expiresIn,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(idToken !== undefined && { id_token: idToken }),
    ...(scope && { scope }),
  }
}
