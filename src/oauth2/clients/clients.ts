import { originsOf, withReach, type Client, type SharedReach } from './client.ts'
import { clientOf, type ClientConfig } from './client-config.ts'
import type { StoredClients } from './client-store.ts'

/** The applications of the product: those that the configuration module declares, and those of the database. */
export class Clients {
  readonly #declared: ReadonlyMap<string, Client>
  readonly #origins: ReadonlySet<string>
  readonly #stored: StoredClients
  readonly #reach: SharedReach

  /** @param reach of apps that registered themselves */
  constructor(declared: readonly ClientConfig[], stored: StoredClients, reach: SharedReach) {
    const clients = declared.map(clientOf)
    this.#declared = new Map(clients.map((client) => [client.id, client]))
    this.#origins = new Set(clients.flatMap(originsOf))
    this.#stored = stored
    this.#reach = reach
  }

  async find(id: string): Promise<Client | undefined> {
    const declared = this.#declared.get(id)
    if (declared) return declared
    const stored = await this.#stored.find(id)
    return stored && withReach(stored, this.#reach)
  }

  /** The clients of the configuration module. */
  declared(): Client[] {
    return [...this.#declared.values()]
  }

  /** Whether pages of this origin may call the token endpoint: a client has a redirect URI there. */
  async allowsOrigin(origin: string): Promise<boolean> {
    return this.#origins.has(origin) || this.#stored.hasOrigin(origin)
  }
}
