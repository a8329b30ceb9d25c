import type { Generated } from 'kysely'
import type { AuthenticationProof } from './accounts.ts'

export interface OAuth2Tables {
  authorization_requests: AuthorizationRequestsTable
  consents: ConsentsTable
  device_codes: DeviceCodesTable
  backchannel_logouts: BackchannelLogoutsTable
}

/** An authorization request that waits for its user. */
export interface AuthorizationRequestsTable {
  /** SHA-256 of the random part of its `request_uri`. */
  request_hash: Uint8Array
  client_id: string
  /** JSON: pairs of name and value. */
  parameters: string
  /** 1 if the client pushed it (RFC 9126). */
  pushed: number
  /** SHA-256 of the cookie of the browser that it is parked in; null for a pushed one, and until the browser is known. */
  browser_hash: Uint8Array | null
  created_at: number
  expires_at: number
  /** When a person allowed or denied a parked request, and which; null until then. */
  used_at: number | null
  outcome: 'allowed' | 'denied' | null
}

/** An app that a user allowed, with the scopes of all of its consents. */
export interface ConsentsTable {
  user_id: string
  client_id: string
  /** Separated by spaces. */
  scope: string
  /** The APIs, separated by spaces. */
  resource: string
  granted_at: number
  /** When the user last allowed something. */
  updated_at: number
}

/** The request of a device without a browser (RFC 8628). */
export interface DeviceCodesTable {
  device_code_hash: Uint8Array
  /** HMAC-SHA256 of the code that the person types: it is too short for a plain hash. */
  user_code_hash: Uint8Array
  client_id: string
  /** Separated by spaces. */
  scope: string
  /** As in token_families. */
  resource: string | null
  /** Of the device. */
  address: string | null
  user_agent: string | null
  status: 'pending' | 'approved' | 'denied' | 'used'
  /** The user who decided, and that user's sign-in; null until then. */
  user_id: string | null
  provider: string | null
  authenticated_at: number | null
  authentication_proof: AuthenticationProof | null
  acr: string | null
  amr: string | null
  /** Milliseconds between two polls at least. */
  poll_interval: number
  polled_at: number | null
  created_at: number
  expires_at: number
}

/** A sign-in of an app that ended and that the app is not told of yet. */
export interface BackchannelLogoutsTable {
  /** The token family, `sid` in tokens. */
  family_id: string
  user_id: string
  client_id: string
  attempts: Generated<number>
  due_at: number
  /** Until when no other process sends it. */
  claimed_until: number | null
  created_at: number
  /** Of an app that was deleted: where it is told, and the algorithm of the token. Null: as the app has it. */
  uri: Generated<string | null>
  algorithm: Generated<string | null>
}
