export interface ClientTables {
  clients: ClientsTable
  client_secrets: ClientSecretsTable
  client_origins: ClientOriginsTable
  client_assertions: ClientAssertionsTable
}

/** An application of the product that is not declared in the configuration module. */
export interface ClientsTable {
  /** `app_` and a UUID version 7. */
  id: string
  name: string
  /** Whether it must authenticate. It stays confidential when its last secret is gone. */
  confidential: number
  /** `api`: an admin or an API key made it. `registration`: it registered itself (RFC 7591). */
  origin: 'api' | 'registration'
  /** The fields of a declaration in the configuration module, without id, name and secret, as JSON. */
  settings: string
  created_at: number
  updated_at: number
  /** The address or IPv6 network that it registered from, for a day. */
  registered_from: string | null
}

export interface ClientSecretsTable {
  id: string
  client_id: string
  /** The first characters, which identify a secret in a list. */
  prefix: string
  secret_hash: Uint8Array
  created_at: number
  /** Set when a newer secret was made; null until then. */
  expires_at: number | null
}

/** The origins of redirect URIs: pages of these origins may call the token endpoint. */
export interface ClientOriginsTable {
  client_id: string
  origin: string
}

/** The `jti` of a client assertion (RFC 7523), which is accepted once. */
export interface ClientAssertionsTable {
  client_id: string
  /** SHA-256. */
  jti_hash: Uint8Array
  expires_at: number
}
