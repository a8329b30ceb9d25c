import { isObject } from '../../json/exact.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { Problem } from '../../errors.ts'
import { clientNetwork } from '../../http/limits/client-address.ts'
import { openGuardedFetch } from '../../network/guarded-fetch.ts'
import { BoundedCache, shareRun } from '../../runtime/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Worker } from '../../runtime/worker.ts'
import { type Client, withDefaults } from './client.ts'
import {
  describedApp,
  redirectFault,
  registeredScopes,
  type RegistrationBody,
  withoutEmpty,
} from './registration-request.ts'

/** Bytes of a document at most, as the specification recommends, and milliseconds for the whole exchange. */
const [longestDocument, usualTimeout] = [5 * 1024, 5_000]
/** Characters of an address: it is a column of each sign-in and consent. */
const longestId = 512
/** Documents in memory, and those that are fetched at a time. */
const [mostCached, mostInFlight] = [1_000, 20]
/** Fetches that one address can cause in a minute, in all processes. */
const perNetwork = 30
/** Seconds that a document is used, whatever its Cache-Control says: at least, without a word, at most. */
const lifetimes = { least: 60, usual: 3_600, most: 86_400 }

interface Cached {
  client: Client
  expiresAt: number
}

/** Why a document is unusable. The message is a sentence for the app's developer. */
export class ClientDocumentFault extends Error {}

interface ClientDocumentsParts {
  clock: Clock
  allowPrivateNetwork: boolean
  /** Milliseconds for an exchange. Default 5,000. */
  timeout?: number
}

/**
 * Apps whose id is the https address of a document about them (OAuth Client ID Metadata Document, which the MCP specification of
 * 2025-11-25 recommends). Nothing is stored: a document is fetched when its app acts, and cached in memory.
 */
export class ClientDocuments implements Worker {
  readonly name = 'client-documents'
  readonly #clock: Clock
  readonly #outside
  readonly #cache = new BoundedCache<string, Cached>(mostCached)
  readonly #fetching = new Map<string, Promise<void>>()

  constructor({ clock, allowPrivateNetwork, timeout = usualTimeout }: ClientDocumentsParts) {
    this.#clock = clock
    this.#outside = openGuardedFetch({ allowPrivateNetwork, timeout, responseLimit: longestDocument })
  }

  start(): void {}

  stop(): Promise<void> {
    return this.#outside.destroy()
  }

  /**
   * The app of an id. Without its document, which `load` fetches, it is one that can neither sign people in nor authenticate: its
   * rights come from the settings, so its tokens are verified without a fetch.
   */
  find(id: string): Client | undefined {
    return isDocumentId(id) ? (this.#cache.get(id)?.client ?? unloaded(id)) : undefined
  }

  /**
   * Fetches the document of an id unless it is known, before the app acts. Does nothing for other ids.
   * @throws ClientDocumentFault; Problem `client-document-unavailable`, `too-many-requests`
   */
  async load(request: FastifyRequest, reply: FastifyReply, id: string): Promise<void> {
    if (!isDocumentId(id)) return
    const cached = this.#cache.get(id)
    if (cached && cached.expiresAt > this.#clock.now()) return
    if (!this.#fetching.has(id))
      await request.server.limits.takeShared(reply, `client documents ${clientNetwork(request)}`, perNetwork)
    await (this.#fetching.get(id) ?? this.#start(id))
  }

  #start(id: string): Promise<void> {
    if (this.#fetching.size >= mostInFlight)
      throw new Problem('too-many-requests', {
        detail: 'Too many client metadata documents are being fetched.',
        retryAfter: usualTimeout / 1000,
      })
    return shareRun(this.#fetching, id, () => this.#refresh(id))
  }

  async #refresh(id: string): Promise<void> {
    try {
      const { document, lifetime } = await this.#read(id)
      const client = clientOfDocument(id, document)
      // Deleted first: the cache evicts in the order of insertion.
      this.#cache.delete(id)
      this.#cache.set(id, { client, expiresAt: this.#clock.now() + lifetime * 1000 })
    } catch (error) {
      if (error instanceof ClientDocumentFault) this.#cache.delete(id)
      throw error
    }
  }

  async #read(id: string): Promise<{ document: Record<string, unknown>; lifetime: number }> {
    const response = await this.#outside
      .fetch(id, { headers: { accept: 'application/json' } })
      .catch((cause: unknown) => {
        throw unavailable(`It could not be fetched, or is larger than ${longestDocument} bytes.`, cause)
      })
    const { status, headers } = response
    if (status >= 500 || status === 429) throw unavailable(`Its server returned HTTP ${status}.`)
    if (status !== 200)
      throw invalid(
        status >= 300 && status < 400
          ? `its server returned HTTP ${status}, and redirects are not followed`
          : `its server returned HTTP ${status}`,
      )
    if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(headers.get('content-type') ?? ''))
      throw invalid('its Content-Type is not application/json')
    return { document: parse(await response.text()), lifetime: lifetimeOf(headers.get('cache-control')) }
  }
}

/**
 * Whether an id is the address of a document: https, written as URL parsers print it (so without dots as segments), with a path, and
 * without a fragment, a user or a password.
 */
export function isDocumentId(id: string): boolean {
  if (!id.startsWith('https://') || id.length > longestId || !URL.canParse(id)) return false
  const { href, pathname, hash, username, password } = new URL(id)
  return href === id && pathname !== '/' && hash === '' && username === '' && password === ''
}

/** The properties that all apps with documents share. */
function introduced(id: string) {
  const idTokenClaims = 'minimal' as const
  return { id, secretHashes: [], firstParty: false, declared: false, selfRegistered: true, idTokenClaims }
}

function unloaded(id: string): Client {
  return {
    ...withDefaults({ idTokenAlgorithm: 'RS256' }),
    ...introduced(id),
    name: new URL(id).host,
    confidential: true,
  }
}

/** The members that are read. `jwks` is checked with its keys. */
const texts = ['client_name', 'token_endpoint_auth_method', 'scope', 'id_token_signed_response_alg']
const lists = ['redirect_uris', 'post_logout_redirect_uris', 'grant_types', 'response_types']

/** @throws ClientDocumentFault `invalid` */
function clientOfDocument(id: string, document: Record<string, unknown>): Client {
  if (document['client_id'] !== id) throw invalid('its client_id is not its own address')
  if ('client_secret' in document || 'client_secret_expires_at' in document)
    throw invalid('it has a client_secret, which a public document must not have')
  for (const member of texts)
    if (document[member] !== undefined && typeof document[member] !== 'string')
      throw invalid(`its ${member} is not a text`)
  for (const member of lists) {
    const value = document[member] ?? []
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw invalid(`its ${member} is not a list of texts`)
  }
  const metadata = document as Static<typeof RegistrationBody>
  const { client_name: name = new URL(id).host, token_endpoint_auth_method: method = 'none' } = metadata
  if (method !== 'none' && method !== 'private_key_jwt')
    throw invalid('its token_endpoint_auth_method must be none or private_key_jwt')
  if (method === 'private_key_jwt' && metadata.jwks === undefined)
    throw invalid('private_key_jwt needs jwks; jwks_uri is not supported')
  const fault = metadata.redirect_uris?.map(redirectFault).find((one) => one !== undefined)
  if (fault !== undefined) throw invalid(fault)
  const scopes = registeredScopes(metadata.scope, [])
  const { settings, ...app } = describedApp(metadata, { name, method, scopes }, invalid)
  return { ...withDefaults(settings), ...introduced(id), ...app }
}

function parse(body: string): Record<string, unknown> {
  let value: unknown
  try {
    value = withoutEmpty(JSON.parse(body))
  } catch (cause) {
    throw invalid('it is not JSON', cause)
  }
  if (!isObject(value)) throw invalid('it is not a JSON object')
  return value
}

/** Seconds that a document may be used without being fetched again. */
function lifetimeOf(cacheControl: string | null): number {
  const { least, usual, most } = lifetimes
  if (cacheControl === null) return usual
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return least
  const seconds = Number(/\bmax-age=(\d{1,10})\b/i.exec(cacheControl)?.[1] ?? usual)
  return Math.min(Math.max(seconds, least), most)
}

function invalid(reason: string, cause?: unknown): ClientDocumentFault {
  return new ClientDocumentFault(`The client metadata document at this client_id is rejected: ${reason}.`, {
    cause,
  })
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('client-document-unavailable', { detail, cause, retryAfter: 30 })
}
