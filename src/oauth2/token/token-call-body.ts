import { Type } from 'typebox'
import { optionalText } from '../../http/schemas/schemas.ts'

/** The parameters with which a client authenticates in a body (RFC 6749, section 2.3.1; RFC 7521, section 4.2). */
export const clientCredentials = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
  client_assertion: Type.Optional(Type.String()),
  client_assertion_type: Type.Optional(Type.String()),
}

/** The body of a call about one token (RFC 7009, section 2.1; RFC 7662, section 2.1). */
export const TokenCallBody = Type.Object({
  token: Type.Optional(Type.String()),
  token_type_hint: optionalText('Not needed'),
  ...clientCredentials,
})
