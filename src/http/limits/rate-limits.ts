import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../runtime/clock.ts'
import { Problem } from '../../errors.ts'
import { clientNetwork, type TrustedProxies } from './client-address.ts'
import type { Principal } from '../principal.ts'
import { RateLimiter, type Taken } from './rate-limiter.ts'
import type { SharedCounts } from './shared-counts.ts'

/** Calls in a minute that are allowed to one address, where a route does not say otherwise. */
const perAddress = 3_000
/** To one user, wherever from; and to one API key, which a whole back end may share. */
const perUser = 3_000
const perKey = 30_000
/** Whatever a caller chooses is kept no longer than this. */
const longestKey = 128

/** What a route allows in a minute, in place of what all routes share. */
export interface RouteLimit {
  /** Calls of one address to this route, by whatever method. */
  max: number
  /** Calls of one user or API key to this route. */
  perAccount?: number
  /** Calls with one value of something in the request (a flow, a code), from wherever they come. */
  per?: { max: number; value: (request: FastifyRequest) => string | undefined }
  /**
   * Whether these limits hold for all processes of the service together. For routes that are called seldom: each call that this
   * process allows costs a statement. Without it they hold for each process.
   */
  together?: true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: RouteLimit
  }
  interface FastifyInstance {
    limits: RateLimits
  }
}

export interface RateLimitsParts {
  /** Without one, nothing is limited. */
  clock: Clock | undefined
  proxies: TrustedProxies
  /** What all processes count together; without it, this one is alone. */
  shared?: SharedCounts | undefined
}

/** What the headers of an answer say about a limit; `wait` is in seconds. */
export type RateStatus = { readonly limit: number } & Pick<Taken, 'remaining' | 'wait'>

/**
 * The limits of this process, and those that all processes have together: of these every process first counts for itself, and asks the
 * others about calls that it allows. @throws Problem `too-many-requests` from every method, when a limit is reached. */
export class RateLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #shared: SharedCounts | undefined
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
  takeRaw(
    request: IncomingMessage,
    url: string,
    max: number | undefined,
  ): (RateStatus & Pick<Taken, 'allowed'>) | undefined {
    if (!this.#limiter) return undefined
    const network = this.#proxies.networkOf(request)
    const key = max === undefined ? networkKey(network) : routeKey(url, network)
    const limit = max ?? perAddress
    return { limit, ...this.#limiter.take(key.slice(0, longestKey), limit) }
  }

  /**
   * Before anything else is done for a request, and for addresses that there are no routes for, too.
   * @returns a promise where all processes have to be asked
   */
  address(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    if (!this.#limiter) return undefined
    const { url, config } = request.routeOptions
    const own = config.rateLimit
    const network = clientNetwork(request)
    // By the route and not by what was asked for: no way of writing an address has a count of its own.
    if (!own) {
      this.take(reply, networkKey(network), perAddress)
      return undefined
    }
    const calls = [{ key: routeKey(url ?? '', network), max: own.max }]
    const value = own.per?.value(request)
    if (own.per && value !== undefined) calls.push({ key: `value ${url} ${value}`, max: own.per.max })
    for (const { key, max } of calls) this.take(reply, key, max)
    return own.together ? this.#takeTogether(reply, calls) : undefined
  }

  /** When it is known who calls. */
  account(
    request: FastifyRequest,
    reply: FastifyReply,
    { userId, keyId, owner }: Principal,
  ): Promise<void> | undefined {
    if (!this.#limiter) return undefined
    const { url, config } = request.routeOptions
    const key = keyId === undefined ? undefined : `key ${keyId}`
    const who = key ?? (userId === undefined ? `owner ${owner}` : `user ${userId}`)
    this.take(reply, who, key === undefined ? perUser : perKey)
    const { perAccount: max, together } = config.rateLimit ?? {}
    if (max === undefined) return undefined
    const call = { key: `${who} ${url}`, max }
    this.take(reply, call.key, max)
    return together ? this.#takeTogether(reply, [call]) : undefined
  }

  /** As `take`, for all processes together. */
  async takeTogether(reply: FastifyReply, key: string, max: number): Promise<void> {
    this.take(reply, key, max)
    await this.#takeTogether(reply, [{ key, max }])
  }

  /** One call of whatever `key` names, `max` of which are allowed in a minute. */
  take(reply: FastifyReply, key: string, max: number): void {
    if (!this.#limiter) return
    sendTaken(reply, max, this.#limiter.take(key.slice(0, longestKey), max))
  }

  async #takeTogether(
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
function sendTaken(reply: FastifyReply, limit: number, { allowed, remaining, wait }: Taken): void {
  // Of several limits, the answer has the narrowest.
  const before = reply.getHeader('ratelimit-remaining')
  if (before === undefined || remaining < Number(before))
    reply.headers(limitHeaders({ limit, remaining, wait }))
  if (!allowed) throw tooManyRequests({ limit, wait })
}

export function tooManyRequests({ limit, wait }: Pick<RateStatus, 'limit' | 'wait'>): Problem {
  return new Problem('too-many-requests', { retryAfter: wait, detail: `At most ${limit} calls per minute.` })
}

function networkKey(network: string): string {
  return `address ${network}`
}

function routeKey(url: string, network: string): string {
  return `address ${url} ${network}`
}

/** The headers of a limit (draft-ietf-httpapi-ratelimit-headers). */
export function limitHeaders({ limit, remaining, wait }: RateStatus): Record<string, number> {
  return { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': Math.ceil(wait) }
}

/** Counts every request by its address. Comes before the guards: who calls too often is not even authenticated. */
export function limitRequests(app: FastifyInstance, parts: RateLimitsParts): RateLimits {
  const limits = new RateLimits(parts)
  app.decorate('limits', limits)
  if (parts.clock) {
    app.addHook('onRequest', (request, reply, done) => {
      const asked = limits.address(request, reply)
      if (asked) void callBack(asked, done)
      else done()
    })
  }
  return limits
}

/** Most requests are counted at once, without a turn of the loop: so the hook takes a callback and returns no promise. */
async function callBack(asked: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await asked
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}
