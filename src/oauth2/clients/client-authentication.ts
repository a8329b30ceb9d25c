import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NoteRefusal } from '../../accounts/refusals.ts'
import { equalBytes, hashToken } from '../../crypto/secrets.ts'
import { OAuthError } from '../oauth-error.ts'
import { type Client } from './client.ts'
import { assertionType, type ClientAssertions } from './client-assertions.ts'
import { ClientDocumentFault } from './client-documents.ts'
import type { Clients } from './clients.ts'

/** Failed authentications of one client in a minute; more are answered 429. A valid secret is not counted. */
const failuresPerClient = 60

const challenge = 'Basic realm="postern"'

/** The parameters of a call, each at most once. */
type ClientParameters = Readonly<Record<string, string | undefined>>

type Call = FastifyRequest
type Reply = FastifyReply

/** The credentials a client sent. `inHeader`: in the Authorization header, so a rejection includes a challenge. */
type Credentials =
  | { method: 'none'; clientId: string; inHeader: boolean }
  | { method: 'client_secret_basic' | 'client_secret_post'; clientId: string; secrets: readonly string[] }
  | { method: 'private_key_jwt'; clientId: string; assertion: string }

interface ClientAuthenticationParts {
  clients: Clients
  assertions: ClientAssertions
  noteRefusal: NoteRefusal
}

/** Authenticates the clients that call the token endpoint and its neighbours. */
export class ClientAuthentication {
  readonly #parts: ClientAuthenticationParts

  constructor(parts: ClientAuthenticationParts) {
    this.#parts = parts
  }

  /**
   * The client that calls, after its credentials were checked (RFC 6749, section 2.3). Refusals are audited.
   * @throws OAuthError `invalid_client`; `invalid_request` for two methods in one request
   */
  async authenticate(request: Call, reply: Reply, parameters: ClientParameters): Promise<Client> {
    const { authorization } = request.headers
    try {
      const credentials = await this.#credentialsOf(authorization, parameters)
      return await this.#check(credentials, await this.#load(request, reply, credentials.clientId))
    } catch (error) {
      return this.refuse(request, reply, error)
    }
  }

  /**
   * Audits what a client was refused, and throws it again.
   * @throws Problem `too-many-requests` when the client was refused too often
   */
  async refuse(request: Call, reply: Reply, error: unknown): Promise<never> {
    if (error instanceof RefusedClient) {
      const client = error.clientId === undefined ? undefined : await this.#parts.clients.find(error.clientId)
      const target = client && `app:${client.id}`
      await this.#parts.noteRefusal(request, { action: 'client.refused', code: error.code, target })
      // Made-up ids are not counted: the limit of the address covers them.
      if (client) await request.server.limits.takeShared(reply, `refused ${client.id}`, failuresPerClient)
    }
    throw error
  }

  async #load(request: Call, reply: Reply, clientId: string): Promise<Client | undefined> {
    try {
      return await this.#parts.clients.load(request, reply, clientId)
    } catch (error) {
      if (!(error instanceof ClientDocumentFault)) throw error
      throw unauthenticated('invalid-document', undefined, error.message)
    }
  }

  async #check(credentials: Credentials, client: Client | undefined): Promise<Client> {
    const { clientId, method } = credentials
    const inHeader = method === 'client_secret_basic' || (method === 'none' && credentials.inHeader)
    const refuse = (code: string, why: string): RefusedClient =>
      unauthenticated(code, clientId, why, inHeader ? challenge : undefined)
    if (!client) throw refuse('unknown-client', 'no app of this id is registered')
    if (!client.confidential) {
      if (method === 'none') return client
      throw refuse('public-client', 'this app is public: it must not send a secret')
    }
    if (method === 'none') throw refuse('no-credentials', 'this app is confidential: it must authenticate')
    if (method === 'private_key_jwt') {
      const fault = await this.#parts.assertions.faultOf(credentials.assertion, client)
      if (fault) throw refuse(fault.code, fault.why)
      return client
    }
    const hashes = credentials.secrets.map((secret) => hashToken(secret))
    // Each hash is compared, so that the time does not tell which one matched.
    const matches = client.secretHashes.flatMap((known) => hashes.filter((hash) => equalBytes(known, hash)))
    if (matches.length === 0) throw refuse('wrong-secret', 'the secret is wrong')
    return client
  }

  /** @throws OAuthError when the request has no client id, or more than one method */
  async #credentialsOf(authorization: string | undefined, given: ClientParameters): Promise<Credentials> {
    const { client_id: clientId, client_secret: secret, client_assertion: assertion } = given
    const isBasic = authorization !== undefined && /^basic /i.test(authorization)
    const header = isBasic ? basicCredentials(authorization) : undefined
    // A public client sends an empty password, because a secret may be omitted if it is empty (RFC 6749, section 2.3.1).
    const basic = header?.secrets[0] === '' ? undefined : header
    const methods = [basic, secret, assertion].filter((one) => one !== undefined)
    const signer = assertion === undefined ? undefined : await this.#parts.assertions.signerOf(assertion)
    const shown = header?.clientId ?? signer ?? clientId
    const invalid = (code: string, why: string): RefusedClient =>
      new RefusedClient(code, shown, 'invalid_request', why)
    if (methods.length > 1) throw invalid('two-methods', 'the request authenticates in two ways')
    if ([clientId, signer].some((id) => id !== undefined && shown !== undefined && id !== shown))
      throw invalid('other-client-id', 'client_id is not the one that authenticates')
    if (basic) return { ...basic, method: 'client_secret_basic' }
    if (assertion !== undefined) {
      if (given['client_assertion_type'] !== assertionType)
        throw new OAuthError('invalid_request', `client_assertion_type must be ${assertionType}`)
      if (signer === undefined)
        throw unauthenticated('malformed-assertion', clientId, 'the assertion is malformed')
      return { method: 'private_key_jwt', clientId: signer, assertion }
    }
    if (shown === undefined) throw new OAuthError('invalid_request', 'client_id is missing')
    return secret === undefined
      ? { method: 'none', clientId: shown, inHeader: isBasic }
      : { method: 'client_secret_post', clientId: shown, secrets: [secret] }
  }
}

/**
 * Id and secret are form-encoded in the header (RFC 6749, section 2.3.1). Widespread clients, such as Authlib, send them as
 * they are, so a secret with `+` or `%` may mean two texts.
 */
function basicCredentials(authorization: string): { clientId: string; secrets: readonly string[] } {
  const pair = Buffer.from(authorization.slice('basic '.length), 'base64').toString()
  const colon = pair.indexOf(':')
  if (colon < 0)
    throw unauthenticated('malformed-header', undefined, 'the Authorization header is malformed', challenge)
  const secret = pair.slice(colon + 1)
  return { clientId: formDecoded(pair.slice(0, colon)), secrets: [formDecoded(secret), secret] }
}

/** The text itself when it cannot be form-encoded. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** A client could not authenticate, or asked for more than it may: the audit log gets an entry. */
export class RefusedClient extends OAuthError {
  /** The reason, for the audit log. */
  readonly code: string
  /** As the request names it. No such client need exist. */
  readonly clientId: string | undefined

  constructor(
    code: string,
    clientId: string | undefined,
    ...about: ConstructorParameters<typeof OAuthError>
  ) {
    super(...about)
    this.code = code
    this.clientId = clientId
  }
}

/** A client that did not prove which one it is, or a public one where only confidential ones may call. */
export function unauthenticated(
  code: string,
  clientId: string | undefined,
  why: string,
  challenge?: string,
): RefusedClient {
  return new RefusedClient(code, clientId, 'invalid_client', why, { challenge })
}
