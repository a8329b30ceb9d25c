import type { AppRequest } from '../../accounts/sessions/authentication.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Client,
  originsOf,
  type SharedReach,
  withReach,
  allowsRedirect,
  type ClientConfig,
  clientOf,
  type ClientSettings,
  withDefaults,
} from './client.ts'
import type { ClientDocuments } from './client-documents.ts'
import { type CompiledQuery, sql } from 'kysely'
import { newId } from '../../crypto/ids.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { Problem } from '../../errors.ts'
import { isStorableText } from '../../storage/sql-text.ts'

interface ClientsParts {
  stored: StoredClients
  documents: ClientDocuments | undefined
  /** Of apps that registered themselves. */
  reach: SharedReach
}

/** The applications of the product: those that the configuration module declares, and those of the database. */
export class Clients {
  readonly #declared: ReadonlyMap<string, Client>
  readonly #origins: ReadonlySet<string>
  readonly #stored: StoredClients

  /** What self-registered apps can request. */
  readonly reach: SharedReach
  /** Those that are described by the document at their id, if CLIENT_REGISTRATION allows them. */
  readonly documents: ClientDocuments | undefined

  constructor(declared: readonly ClientConfig[], { stored, documents, reach }: ClientsParts) {
    const clients = declared.map(clientOf)
    this.#declared = new Map(clients.map((client) => [client.id, client]))
    this.#origins = new Set(clients.flatMap(originsOf))
    this.#stored = stored
    this.reach = reach
    this.documents = documents
  }

  async find(id: string): Promise<Client | undefined> {
    const declared = this.#declared.get(id)
    if (declared) return declared
    const found = this.documents?.find(id) ?? (await this.#stored.find(id))
    return found && withReach(found, this.reach)
  }

  /**
   * The app of an id that acts now: fetches its document, if it has one.
   * @throws ClientDocumentFault; Problem `client-document-unavailable`, `too-many-requests`
   */
  async load(request: FastifyRequest, reply: FastifyReply, id: string): Promise<Client | undefined> {
    if (!this.#declared.has(id)) await this.documents?.load(request, reply, id)
    return this.find(id)
  }

  /** The clients of the configuration module. */
  declared(): Client[] {
    return [...this.#declared.values()]
  }

  /**
   * Whether pages of this origin may call the token endpoint: a client has a redirect URI there. Where any page can introduce
   * an app of its origin, by a document, the origin says nothing.
   */
  async allowsOrigin(origin: string): Promise<boolean> {
    return this.documents !== undefined || this.#origins.has(origin) || this.#stored.hasOrigin(origin)
  }
}

/** The topic of the announcement that a client or a secret changed. */
const topic = 'clients'
/** Clients, and origins, in memory at most. */
const capacity = 1_000
/** The prefix keeps ids of clients apart from ids of users, because both can be the `sub` of a token (RFC 9068, section 5). */
const idForm = /^app_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A client of the database. */
export interface StoredClient extends Client {
  settings: ClientSettings
  createdAt: number
  updatedAt: number
}

/** A row of the client, with one of its secrets. */
type ClientRow = Row<'clients'> & { secretHash: Uint8Array | null; secretExpiresAt: number | null }

export function newClientId(now: number): string {
  return `app_${newId(now)}`
}

export function isClientId(text: string): boolean {
  return idForm.test(text)
}

/** Makes a change of clients or secrets effective in every process at once. */
export function announceClients({ revocations }: Database, tx: Tx): Promise<void> {
  return revocations.announce(tx, topic)
}

/** The client of a row. Its secrets are not read. */
export function storedClient(row: Row<'clients'>): StoredClient {
  const settings = JSON.parse(row.settings) as ClientSettings
  const selfRegistered = row.origin === 'registration'
  return {
    ...withDefaults(settings),
    idTokenClaims: settings.idTokenClaims ?? (selfRegistered ? 'minimal' : 'scopes'),
    id: row.id,
    name: row.name,
    confidential: row.confidential === 1,
    secretHashes: [],
    // Unlike in a declaration: the right to write clients does not include the right to skip the consent of users.
    firstParty: settings.firstParty ?? false,
    declared: false,
    selfRegistered,
    settings,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/**
 * The clients of the database. Each use of an access token asks for its client: on SQLite that is one indexed read. On
 * PostgreSQL it is a round trip, so clients are cached while this process is sure to hear of changes.
 */
export class StoredClients {
  readonly #database: Database
  readonly #clock: Clock
  readonly #clientSql: string
  readonly #originSql: string
  #clients = new BoundedCache<string, readonly ClientRow[]>(capacity)
  #origins = new BoundedCache<string, true>(capacity)
  /** Grows with each announcement: a read that began before it is not cached. */
  #generation = 0

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#clientSql = clientQuery(database).sql
    this.#originSql = originQuery(database).sql
    database.revocations.listen((announced) => {
      if (announced !== undefined && announced !== topic) return
      this.#generation += 1
      this.#clients = new BoundedCache(capacity)
      this.#origins = new BoundedCache(capacity)
    })
  }

  async find(id: string): Promise<StoredClient | undefined> {
    if (!isClientId(id)) return undefined
    const rows = await this.#read(this.#clients, id, () =>
      this.#rows<ClientRow>('client', this.#clientSql, id),
    )
    const [row] = rows ?? []
    if (!rows || !row) return undefined
    const now = this.#clock.now()
    const valid = rows.filter(({ secretExpiresAt: end }) => end === null || end > now)
    return { ...storedClient(row), secretHashes: valid.flatMap(({ secretHash }) => secretHash ?? []) }
  }

  /** Whether a client has a redirect URI of this origin. */
  async hasOrigin(origin: string): Promise<boolean> {
    const read = async (): Promise<true | undefined> => {
      const rows = await this.#rows('client-origin', this.#originSql, origin)
      return rows.length > 0 ? true : undefined
    }
    return (await this.#read(this.#origins, origin, read)) === true
  }

  /** Only what exists is cached, so a new client needs no announcement, and made-up ids do not evict others. */
  async #read<T>(
    cache: BoundedCache<string, T>,
    key: string,
    read: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const { engine, revocations } = this.#database
    if (engine === 'sqlite') return read()
    const cached = revocations.current ? cache.get(key) : undefined
    if (cached !== undefined) return cached
    const generation = this.#generation
    const found = await read()
    const isFound = Array.isArray(found) ? found.length > 0 : found !== undefined
    if (isFound && revocations.current && generation === this.#generation) cache.set(key, found as T)
    return found
  }

  async #rows<Found>(name: string, sql: string, parameter: string): Promise<Found[]> {
    const database = this.#database
    if (database.engine === 'sqlite') return database.readConnection.all<Found>(sql, [parameter])
    return poolRows<Found>(database.pool, { name, text: sql, values: [parameter] })
  }
}

function clientQuery({ reader }: Database): CompiledQuery {
  return reader
    .selectFrom('clients')
    .leftJoin('client_secrets', 'client_secrets.client_id', 'clients.id')
    .selectAll('clients')
    .select(['client_secrets.secret_hash as secretHash', 'client_secrets.expires_at as secretExpiresAt'])
    .where('clients.id', '=', '')
    .compile()
}

function originQuery({ reader }: Database): CompiledQuery {
  return reader
    .selectFrom('client_origins')
    .select('origin')
    .where('origin', '=', '')
    .limit(sql.lit(1))
    .compile()
}

/** Characters of `state` and `nonce` at most. */
const longestState = 1024

type Query = Readonly<Record<string, string | undefined>>

/**
 * Validates an app's request at GET /auth/{provider}.
 * @throws Problem `invalid-parameter`. Errors are never sent to the redirect URI, which may not be registered.
 */
export function parseAppRequest(client: Client | undefined, query: Query): AppRequest {
  const { redirect_uri: redirectUri, code_challenge: challenge, state } = query
  if (!client) throw invalid('client_id', 'No app with this ID is registered.')
  if (!client.firstParty)
    throw invalid('client_id', 'This app needs the consent of its users: it signs in at /oauth2/authorize.')
  if (redirectUri === undefined || !allowsRedirect(client, redirectUri)) {
    throw invalid('redirect_uri', 'It is not registered for this app. It must match exactly.')
  }
  if (query['response_type'] !== undefined && query['response_type'] !== 'code') {
    throw invalid('response_type', 'Only `code` is supported.')
  }
  if (query['code_challenge_method'] !== 'S256') {
    throw invalid('code_challenge_method', 'Only S256 is supported: `plain` would reveal the verifier.')
  }
  if (!isChallenge(challenge)) {
    throw invalid(
      'code_challenge',
      'Send the base64url of the SHA-256 of the verifier (RFC 7636, section 4.2).',
    )
  }
  if (state !== undefined && (state.length > longestState || !isStorableText(state))) {
    throw invalid('state', `Send at most ${longestState} characters of text.`)
  }
  return { clientId: client.id, redirectUri, challenge, state: state ?? null }
}

/** Whether a text has the form of an S256 challenge (RFC 7636, section 4.2). */
export function isChallenge(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text)
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid-parameter', { parameter, detail })
}
