import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import { clientNetwork, type TrustedProxies } from './client-address.ts'
import type { Principal } from '../access/principal.ts'
import { RateLimiter, type SharedRateLimiter, type Taken } from './rate-limiter.ts'

/** Calls of one IP address in a minute, unless a route declares its own limit. */
const perIp = 3_000
/** Calls of one user from all addresses, and of one API key or app without a user, which a whole back end may share. */
const perUser = 3_000
const perKey = 30_000
/** Longer keys are cut to this length, in characters, because callers may choose parts of them. */
const longestKey = 128

/** The limits of a route for a minute, instead of the common one. */
interface RouteLimit {
  /** Calls of one address to this route with any method. */
  max: number
  /** Calls of one user or API key to this route. */
  perAccount?: number
  /** Calls with one value of a part of the request (a flow, a code), from all addresses. */
  per?: { max: number; value: (request: FastifyRequest) => string | undefined }
  /**
   * Whether all processes of the service share these limits. Only for rarely called routes: each call that this process allows
   * costs a statement. Without it, each process has its own limits.
   */
  sharedByProcesses?: true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: RouteLimit
    /** For a raw route that counts no calls: its answers have no headers of a limit. */
    uncounted?: true
  }
  interface FastifyInstance {
    limits: RateLimits
  }
}

interface RateLimitsParts {
  /** Without a clock, there are no limits. */
  clock: Clock | undefined
  proxies: TrustedProxies
  /** Counts calls of all processes; without it, this process counts alone. */
  shared?: SharedRateLimiter | undefined
}

/** What the headers of an answer say about a limit. */
export type RateStatus = { readonly limit: number } & Pick<Taken, 'remaining' | 'resetAfter'>

/**
 * The limits of this process, and those that all processes share. For the shared ones, each process counts alone first, and asks the
 * database only about calls that it allows itself. Every method throws the Problem `too-many-requests` if a limit is reached.
 */
export class RateLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #shared: SharedRateLimiter | undefined
  readonly #proxies: TrustedProxies

  constructor({ clock, proxies, shared }: RateLimitsParts) {
    this.#limiter = clock && new RateLimiter(clock)
    this.#shared = shared
    this.#proxies = proxies
  }

  /**
   * Counts a request that the framework does not see, for its client network.
   * @param max the limit of the route `url`; without it, the request counts toward the limit that all other routes share
   * @returns undefined if rate limits are off
   */
  takeRaw(request: IncomingMessage, url: string, max: number | undefined): (RateStatus & Taken) | undefined {
    if (!this.#limiter) return undefined
    const network = this.#proxies.networkOf(request)
    const key = max === undefined ? networkKey(network) : routeKey(url, network)
    const limit = max ?? perIp
    return { limit, ...this.#limiter.take(key.slice(0, longestKey), limit) }
  }

  /**
   * Counts a request for its client network, also if it has no route.
   * @returns a promise for a limit that all processes share
   */
  countByIp(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (!this.#limiter) return undefined
    const { url, config } = request.routeOptions
    const limit = config.rateLimit
    const network = clientNetwork(request)
    // The key has the route instead of the requested path, which can be written in many ways.
    if (!limit) {
      this.take(reply, networkKey(network), perIp)
      return undefined
    }
    const calls = [{ key: routeKey(url ?? '', network), max: limit.max }]
    const value = limit.per?.value(request)
    if (limit.per && value !== undefined) calls.push({ key: `value ${url} ${value}`, max: limit.per.max })
    for (const { key, max } of calls) this.take(reply, key, max)
    return limit.sharedByProcesses ? this.#takeShared(reply, calls) : undefined
  }

  /** Counts a call for its authenticated caller. */
  countByCaller(
    request: FastifyRequest,
    reply: FastifyReply,
    { userId, keyId, owner, clientId }: Principal,
  ): Promise<void> | undefined {
    if (!this.#limiter) return undefined
    const { url, config } = request.routeOptions
    const person = userId === undefined ? owner && `owner ${owner}` : `user ${userId}`
    const who = person ?? (keyId === undefined ? `app ${clientId}` : `key ${keyId}`)
    this.take(reply, who, person === undefined ? perKey : perUser)
    const { perAccount: max, sharedByProcesses } = config.rateLimit ?? {}
    if (max === undefined) return undefined
    const call = { key: `${who} ${url}`, max }
    this.take(reply, call.key, max)
    return sharedByProcesses ? this.#takeShared(reply, [call]) : undefined
  }

  /** As `take`, with a limit that all processes share. */
  async takeShared(reply: FastifyReply, key: string, max: number): Promise<void> {
    this.take(reply, key, max)
    await this.#takeShared(reply, [{ key, max }])
  }

  /** Counts one call of a key, which may make `max` calls in a minute. */
  take(reply: FastifyReply, key: string, max: number): void {
    if (!this.#limiter) return
    sendTaken(reply, max, this.#limiter.take(key.slice(0, longestKey), max))
  }

  async #takeShared(
    reply: FastifyReply,
    calls: readonly { readonly key: string; readonly max: number }[],
  ): Promise<void> {
    const shared = this.#shared
    if (!this.#limiter || !shared) return
    const all = await Promise.all(
      calls.map(async ({ key, max }) => ({ max, taken: await shared.take(key.slice(0, longestKey), max) })),
    )
    for (const { max, taken } of all) if (taken) sendTaken(reply, max, taken)
  }
}

/** @throws Problem `too-many-requests` */
function sendTaken(reply: FastifyReply, limit: number, taken: Taken): void {
  // Of several limits, the answer has the narrowest.
  const before = reply.getHeader('ratelimit-remaining')
  if (before === undefined || taken.remaining < Number(before))
    reply.headers(limitHeaders({ limit, ...taken }))
  if (!taken.allowed) throw tooManyRequests({ limit, ...taken })
}

export function tooManyRequests({
  limit,
  retryAfter,
}: { limit: number } & Pick<Taken, 'retryAfter'>): Problem {
  return new Problem('too-many-requests', { retryAfter, detail: `At most ${limit} calls per minute.` })
}

function networkKey(network: string): string {
  return `address ${network}`
}

function routeKey(url: string, network: string): string {
  return `address ${url} ${network}`
}

/** The headers of a limit (draft-ietf-httpapi-ratelimit-headers). */
export function limitHeaders({ limit, remaining, resetAfter }: RateStatus): Record<string, number> {
  return {
    'ratelimit-limit': limit,
    'ratelimit-remaining': remaining,
    'ratelimit-reset': Math.ceil(resetAfter),
  }
}

/** Counts every request by its address, before the guards: a caller above the limit is not authenticated. */
export function limitRequests(app: FastifyInstance, parts: RateLimitsParts): RateLimits {
  const limits = new RateLimits(parts)
  app.decorate('limits', limits)
  if (parts.clock) {
    app.addHook('onRequest', (request, reply, done) => {
      const pending = limits.countByIp(request, reply)
      if (pending) void finish(pending, done)
      else done()
    })
  }
  return limits
}

/** The hook takes a callback, because most requests are counted synchronously. */
async function finish(pending: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await pending
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}
