import type { OAuth2Services } from '../services.ts'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { withForms } from '../../http/requests/parameters.ts'
import type { App } from '../../http/app.ts'
import { clientCall, OAuthError } from '../oauth-error.ts'
import { acceptJsonWithoutDuplicates, allowClientOrigins, browserCall, TokenCallBody } from './token-call.ts'
import type { KnownToken } from './introspection.ts'

const path = '/oauth2/revoke'
const Ended = Type.Object({}, { description: 'It has ended, or there was no such token of this app' })

const call = clientCall(
  'End the sign-in that a token belongs to (RFC 7009; JSON or form)',
  TokenCallBody,
  Ended,
)

/** POST /oauth2/revoke: a client ends one of its sign-ins, by any token of it (RFC 7009). */
export async function revocationRoute(app: App, parts: OAuth2Services): Promise<void> {
  const { clients, authentication, status, tokenFamilies, audit, noteRefusal } = parts
  await withForms(app, (routes) => {
    acceptJsonWithoutDuplicates(routes)
    allowClientOrigins(routes, path, clients)
    routes.post(path, { config: browserCall, ...call }, async (request, reply) => {
      const { body } = request
      const client = await authentication.authenticate(request, reply, body)
      if (!body.token) throw new OAuthError('invalid_request', 'token is missing')
      const known = await status.find(body.token)
      if (!known) return {}
      const target = `app:${client.id}`
      const { clientId, userId, familyId } = ownerOf(known)
      if (clientId !== client.id) {
        // RFC 7009, section 2.2: an invalid token gets no error, because the client could do nothing about it.
        await noteRefusal(request, { action: 'tokens.refused', code: 'other-client', target, userId })
        return {}
      }
      if (userId === undefined || familyId === undefined)
        throw new OAuthError('unsupported_token_type', 'a token without a user lives until it expires')
      const entry = { action: 'tokens.revoked', userId, target, detail: { reason: 'client' } } as const
      const origin = { ...auditOrigin(request), actor: target }
      await tokenFamilies.revoke(userId, familyId, (tx) => audit.record(tx, { ...origin, ...entry }))
      return {}
    })
  })
}

/** Whose token it is. A token without a user has no family. */
function ownerOf(known: KnownToken): { clientId: string; userId?: string; familyId?: string } {
  if (known.kind === 'refresh') return known.family
  const { client_id: clientId, sub: userId, sid: familyId } = known.claims
  return familyId === undefined ? { clientId } : { clientId, userId, familyId }
}
