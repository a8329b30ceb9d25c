import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import { clientNetwork } from './client-address.ts'
import type { Principal } from './principal.ts'
import { RateLimiter } from './rate-limiter.ts'

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
}

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: RouteLimit
  }
  interface FastifyInstance {
    limits: RateLimits
  }
}

/** The limits of this process. @throws Problem `too-many-requests` from every method, when a limit is reached. */
export class RateLimits {
  readonly #limiter: RateLimiter | undefined

  /** @param clock without one, nothing is limited. */
  constructor(clock: Clock | undefined) {
    this.#limiter = clock && new RateLimiter(clock)
  }

  /** Before anything else is done for a request, and for addresses that there are no routes for, too. */
  address(request: FastifyRequest, reply: FastifyReply): void {
    if (!this.#limiter) return
    const { url, config } = request.routeOptions
    const own = config.rateLimit
    const network = clientNetwork(request)
    // By the route and not by what was asked for: no way of writing an address has a count of its own.
    if (own) this.take(reply, `address ${url} ${network}`, own.max)
    else this.take(reply, `address ${network}`, perAddress)
    const value = own?.per?.value(request)
    if (own?.per && value !== undefined) this.take(reply, `value ${url} ${value}`, own.per.max)
  }

  /** When it is known who calls. */
  account(request: FastifyRequest, reply: FastifyReply, { userId, keyId, owner }: Principal): void {
    if (!this.#limiter) return
    const { url, config } = request.routeOptions
    const key = keyId === undefined ? undefined : `key ${keyId}`
    const who = key ?? (userId === undefined ? `owner ${owner}` : `user ${userId}`)
    this.take(reply, who, key === undefined ? perUser : perKey)
    const own = config.rateLimit?.perAccount
    if (own !== undefined) this.take(reply, `${who} ${url}`, own)
  }

  /** One call of whatever `key` names, `max` of which are allowed in a minute. */
  take(reply: FastifyReply, key: string, max: number): void {
    if (!this.#limiter) return
    const { allowed, remaining, wait } = this.#limiter.take(key.slice(0, longestKey), max)
    tellLimit(reply, { limit: max, remaining, wait })
    if (!allowed) {
      throw new Problem('too-many-requests', { retryAfter: wait, detail: `At most ${max} calls per minute.` })
    }
  }
}

/** Of several limits the narrowest is told (draft-ietf-httpapi-ratelimit-headers); `wait` is in seconds. */
export function tellLimit(
  reply: FastifyReply,
  { limit, remaining, wait }: { limit: number; remaining: number; wait: number },
): void {
  const told = reply.getHeader('ratelimit-remaining')
  if (told !== undefined && remaining >= Number(told)) return
  reply.header('ratelimit-limit', limit)
  reply.header('ratelimit-remaining', remaining)
  reply.header('ratelimit-reset', Math.ceil(wait))
}

/** Counts every request by its address. Comes before the guards: who calls too often is not even authenticated. */
export function limitRequests(app: FastifyInstance, clock: Clock | undefined): RateLimits {
  const limits = new RateLimits(clock)
  app.decorate('limits', limits)
  if (clock) {
    app.addHook('onRequest', (request, reply, done) => {
      limits.address(request, reply)
      done()
    })
  }
  return limits
}
