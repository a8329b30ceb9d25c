import type { Row } from '../../storage/tables.ts'
import { type SubscriberEgress, type Target, targetOf } from '../attempt/attempt.ts'
import { basicAuthorization, OAuthTokens } from '../attempt/oauth-tokens.ts'
import type { SpecialEndpoint } from '../attempt/special-endpoint.ts'
import type { OutboundAgent } from '../../network/exchange.ts'
import { type Auth, type Credentials, openCredentials, openHeaders } from '../subscribers/credentials.ts'
import { destinationIn, type Destinations } from '../subscribers/destinations.ts'
import { readRequestOptions, type RequestOptions } from '../subscribers/request-options.ts'
import { type LiveKey, schemesOf, type SubscriberSecrets } from '../subscribers/secrets.ts'
import { keyOf } from '../transformations/transformation.ts'
import type { SigningKey } from '../attempt/signature.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** The settings of a subscriber that the dispatcher needs, with decrypted secrets and headers. */
export interface Endpoint {
  id: string
  url: string
  timeout: number
  /** The most attempts in flight. */
  concurrency: number
  /** Attempts per second; `undefined` for no limit. */
  rate: number | undefined
  ordered: boolean
  /** Milliseconds before each attempt. */
  schedule: readonly number[]
  target: Target
  /** Whether requests get a signature by RFC 9421 as well. */
  httpSignature: boolean
  owner: string | null
  /** Whether it gets operational events. Its own deliveries cause none. */
  operational: boolean
  /** Since when its deliveries fail, and when the warning was emitted; milliseconds since 1970. */
  failingSince: number | null
  warnedAt: number | null
  /** Returns the keys that sign at a time, in milliseconds since 1970. */
  keysAt(now: number): SigningKey[]
}

const defaultConcurrency = 10
/** Subscribers in the cache. */
const most = 10_000

/** Endpoints by their ids. One that leaves it closes its own connections after its attempts in flight. */
class EndpointCache extends BoundedCache<string, { updatedAt: number; endpoint: Endpoint }> {
  override delete(id: string): boolean {
    void this.get(id)?.endpoint.target.special?.agent?.close()
    return super.delete(id)
  }

  override clear(): void {
    for (const id of this.keys()) this.delete(id)
  }
}

interface EndpointsParts extends Pick<ModuleParts, 'database' | 'keyring' | 'clock'> {
  secrets: SubscriberSecrets
  egress: Pick<SubscriberEgress, 'agents' | 'withTls'>
  destinations: Destinations
  defaults: { timeout: number; schedule: readonly number[] }
}

/**
 * A cache of endpoints. An entry is valid while `updated_at` is the same: every change of a subscriber or of its secrets
 * increases that column.
 */
export class Endpoints {
  readonly #parts: EndpointsParts
  readonly #cache = new EndpointCache(most)

  constructor(parts: EndpointsParts) {
    this.#parts = parts
    parts.database.onSetBack(() => this.#cache.clear())
  }

  async open(row: Row<'subscribers'>): Promise<Endpoint> {
    const cached = this.#cache.get(row.id)
    if (cached?.updatedAt === row.updated_at) return cached.endpoint
    const { database, secrets, defaults } = this.#parts
    const keys = await secrets.load(database.reader, row.id, schemesOf(row.signing))
    const endpoint: Endpoint = {
      id: row.id,
      url: row.url,
      timeout: row.timeout_ms ?? defaults.timeout,
      concurrency: row.ordered === 1 ? 1 : (row.concurrency ?? defaultConcurrency),
      rate: row.rate_limit ?? undefined,
      ordered: row.ordered === 1,
      schedule:
        row.retry_schedule === null ? defaults.schedule : (JSON.parse(row.retry_schedule) as number[]),
      target: this.#target(row),
      httpSignature: row.http_signature === 1,
      owner: row.owner,
      operational: row.operational === 1,
      failingSince: row.failing_since,
      warnedAt: row.warned_at,
      keysAt: (now) => keys.filter((key) => signsAt(key, now)).map(({ signing }) => signing),
    }
    this.#cache.delete(row.id)
    this.#cache.set(row.id, { updatedAt: row.updated_at, endpoint })
    return endpoint
  }

  #target(row: Row<'subscribers'>): Target {
    const { keyring } = this.#parts
    const headers = openHeaders(keyring, row)
    const options = readRequestOptions(row.request)
    const credentials = openCredentials(keyring, row)
    const { auth } = credentials
    const authorization = auth && authorizationOf(auth)
    const { method = 'POST' } = options
    const special = this.#special(row, options, credentials)
    const { url, transformation: code } = row
    if (special && code !== null) {
      const key = keyOf(row.owner, row.id)
      special.transformation = { code, key, url, method, headers, hasAuth: auth !== undefined, authorization }
    }
    return targetOf(url, authorization === undefined ? headers : { ...headers, authorization }, {
      method,
      special,
    })
  }

  /** Undefined if the subscriber needs nothing but a request with fixed headers. @throws Error for a destination that is not declared */
  #special(
    { id, url, owner, credentials: sealed, request, transformation }: Row<'subscribers'>,
    { gzip = false, successStatuses, noRetryStatuses, signatureHeaders, body, settings = {} }: RequestOptions,
    { auth, tls, secrets = {} }: Credentials,
  ): SpecialEndpoint | undefined {
    if (sealed === null && request === null && transformation === null) return undefined
    const name = destinationIn(url)
    if (name !== null) {
      const declared = this.#parts.destinations.get(name)
      if (!declared) throw new Error(`the configuration has no destination ${name}`)
      const subscriber = { id, owner }
      return { gzip, destination: { declared, settings, secrets, subscriber, overdue: 0 } }
    }
    const { egress } = this.#parts
    const agent = tls && egress.withTls(owner, { cert: tls.certificate, key: tls.key, ca: tls.ca })
    return {
      agent,
      gzip,
      signatureHeaders,
      bare: body === 'data',
      tokens: auth?.type === 'oauth' ? this.#tokens(auth, url, owner, agent) : undefined,
      succeeds: successStatuses ? statusTest(successStatuses) : undefined,
      isFinal: noRetryStatuses ? statusTest(noRetryStatuses) : undefined,
    }
  }

  #tokens(
    { tokenUrl, clientId, clientSecret, ...rest }: Auth,
    url: string,
    owner: string | null,
    own: OutboundAgent | undefined,
  ): OAuthTokens {
    const { egress, clock } = this.#parts
    const client = { ...rest, tokenUrl: tokenUrl!, clientId: clientId!, clientSecret: clientSecret! }
    const shared = owner === null ? egress.agents.ownerless : egress.agents.owned
    // The client certificate is for the endpoint's server only.
    const agent = own && new URL(client.tokenUrl).origin === new URL(url).origin ? own : shared
    return new OAuthTokens({ client, agent, owned: owner !== null, clock })
  }
}

/** @returns whether a status is in the list */
function statusTest(listed: NonNullable<RequestOptions['successStatuses']>): (status: number) => boolean {
  const all = new Set(listed)
  return (status) => all.has(status) || all.has(`${Math.floor(status / 100)}xx`)
}

/** Undefined for OAuth, whose tokens are fetched. */
function authorizationOf({ type, user, password, token }: Auth): string | undefined {
  if (type === 'oauth') return undefined
  return type === 'basic' ? basicAuthorization(user!, password!) : `Bearer ${token}`
}

function signsAt({ expiresAt }: LiveKey, now: number): boolean {
  return expiresAt === null || expiresAt > now
}
