import type { FastifyReply, FastifyRequest } from 'fastify'
import { originsOf, withReach, type Client, type SharedReach } from './client.ts'
import type { ClientDocuments } from './client-documents.ts'
import { clientOf, type ClientConfig } from './client-config.ts'
import type { StoredClients } from './client-store.ts'

export interface ClientsParts {
  stored: StoredClients
  documents: ClientDocuments | undefined
  /** Of apps that registered themselves. */
  reach: SharedReach
  /** Whether anyone can register apps. */
  isOpen: boolean
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
  /** Whether any page can introduce its own app. */
  readonly #isOpen: boolean

  constructor(declared: readonly ClientConfig[], { stored, documents, reach, isOpen }: ClientsParts) {
    const clients = declared.map(clientOf)
    this.#declared = new Map(clients.map((client) => [client.id, client]))
    this.#origins = new Set(clients.flatMap(originsOf))
    this.#stored = stored
    this.reach = reach
    this.documents = documents
    this.#isOpen = isOpen
  }

  async find(id: string): Promise<Client | undefined> {
    const declared = this.#declared.get(id)
    if (declared) return declared
    const found = this.documents?.find(id) ?? (await this.#stored.find(id))
    return found && withReach(found, this.reach)
  }

  /**
   * Must be called before an app acts, with the id that it names: fetches the app's document, if it has one.
   * @throws ClientDocumentFault; Problem `client-document-unavailable`, `too-many-requests`
   */
  async load(request: FastifyRequest, reply: FastifyReply, id: string): Promise<void> {
    if (!this.#declared.has(id)) await this.documents?.load(request, reply, id)
  }

  /** The clients of the configuration module. */
  declared(): Client[] {
    return [...this.#declared.values()]
  }

  /**
   * Whether pages of this origin may call the token endpoint: a client has a redirect URI there. Where any page can introduce
   * an app of its origin, the origin says nothing.
   */
  async allowsOrigin(origin: string): Promise<boolean> {
    return this.#isOpen || this.#origins.has(origin) || this.#stored.hasOrigin(origin)
  }
}
