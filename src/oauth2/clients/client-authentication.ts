import { equalBytes } from '../../crypto/constant-time.ts'
import { hashToken } from '../../crypto/tokens.ts'
import { OAuthError } from '../oauth-error.ts'
import { isPublic, type Client } from './client.ts'
import type { Clients } from './clients.ts'

/** The methods of the token endpoint, by their registered names (RFC 8414, section 2). */
export const authenticationMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const

type Body = Readonly<Record<string, string | undefined>>

/** What a client showed of itself: its id, and its secret if it sent one. */
interface Credentials {
  clientId: string
  secret: string | undefined
  method: (typeof authenticationMethods)[number]
}

const challenge = 'Basic realm="postern"'

/**
 * The client that calls, after its credentials were checked (RFC 6749, section 2.3).
 * @param authorization the header `Authorization`
 * @throws OAuthError `invalid_client`; `invalid_request` for two methods in one request
 */
export async function authenticateClient(
  clients: Clients,
  authorization: string | undefined,
  body: Body,
): Promise<Client> {
  const { clientId, secret, method } = credentialsOf(authorization, body)
  const refuse = (why: string): OAuthError =>
    new OAuthError('invalid_client', why, {
      status: 401,
      challenge: method === 'client_secret_basic' ? challenge : undefined,
    })
  const client = await clients.find(clientId)
  if (!client) throw refuse('no app of this id is registered')
  if (isPublic(client)) {
    if (secret !== undefined) throw refuse('this app is public: it must not send a secret')
    return client
  }
  if (secret === undefined) throw refuse('this app is confidential: it must authenticate')
  const hash = hashToken(secret)
  // Each hash is compared, so that the time does not tell which one matched.
  const matches = client.secretHashes.filter((known) => equalBytes(known, hash))
  if (matches.length === 0) throw refuse('the secret is wrong')
  return client
}

/** @throws OAuthError when the request has no client id, or more than one method */
function credentialsOf(authorization: string | undefined, body: Body): Credentials {
  const { client_id: clientId, client_secret: secret } = body
  if (authorization !== undefined && /^basic /i.test(authorization)) {
    const basic = basicCredentials(authorization)
    if (secret !== undefined) throw new OAuthError('invalid_request', 'the request authenticates in two ways')
    if (clientId !== undefined && clientId !== basic.clientId)
      throw new OAuthError('invalid_request', 'client_id is not the one of the Authorization header')
    return { ...basic, method: 'client_secret_basic' }
  }
  if (clientId === undefined) throw new OAuthError('invalid_request', 'client_id is missing')
  return { clientId, secret, method: secret === undefined ? 'none' : 'client_secret_post' }
}

/** Id and secret are form-encoded in the header (RFC 6749, section 2.3.1). */
function basicCredentials(authorization: string): { clientId: string; secret: string } {
  const malformed = () =>
    new OAuthError('invalid_client', 'the Authorization header is malformed', { status: 401, challenge })
  const pair = Buffer.from(authorization.slice('basic '.length), 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0) throw malformed()
  try {
    const [clientId, secret] = [pair.slice(0, colon), pair.slice(colon + 1)].map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    )
    return { clientId: clientId!, secret: secret! }
  } catch {
    throw malformed()
  }
}
