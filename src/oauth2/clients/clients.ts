import type { Client } from './client.ts'
import { clientOf, type ClientConfig } from './client-config.ts'

/** The applications of the product: those that the configuration module declares. */
export class Clients {
  readonly #declared: ReadonlyMap<string, Client>
  readonly #origins: ReadonlySet<string>

  constructor(declared: readonly ClientConfig[]) {
    const clients = declared.map(clientOf)
    this.#declared = new Map(clients.map((client) => [client.id, client]))
    this.#origins = new Set(clients.flatMap(originsOf))
  }

  async find(id: string): Promise<Client | undefined> {
    return this.#declared.get(id)
  }

  /** Whether pages of this origin may call the token endpoint: a client has a redirect URI there. */
  async allowsOrigin(origin: string): Promise<boolean> {
    return this.#origins.has(origin)
  }
}

/** The origins of a client's pages. */
function originsOf({ redirectUris }: Client): string[] {
  return redirectUris
    .map((uri) => new URL(uri))
    .filter(({ protocol }) => /^https?:$/.test(protocol))
    .map(({ origin }) => origin)
}
