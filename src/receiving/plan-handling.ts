import { createOutboundAgent } from '../network/exchange.ts'
import { openGuardedFetch } from '../network/guarded-fetch.ts'
import {
  type ProviderTokenSource,
  readHandlers,
  type RegisteredHandler,
} from './handlers/declared-handlers.ts'
import { forwardTo, keysOf, urlOf, withoutCredentials } from './forward.ts'
import type { HandlerEntry } from './handler-routes.ts'
import { plansOver } from './handlers/plan.ts'
import { readSources } from './sources.ts'
import { bySpecificity, isPattern, matchesPattern } from '../events/type-pattern.ts'
import { BoundedCache } from '../runtime/bounded-cache.ts'
import type { Random } from '../runtime/clock.ts'
import type { ModuleParts } from '../http/service-module.ts'
import type { EmitWithin } from './worker/attempt.ts'
import type { ReceivingConfig } from './config.ts'
import type { OpenSpool } from './spool/file-spool.ts'

export interface ReceivingParts extends ModuleParts {
  config?: ReceivingConfig | undefined
  random?: Random
  /** Emits events in a handler's transaction. */
  emitWithin: EmitWithin
  /** For handlers that declare `providerTokens`. */
  providerTokens?: ProviderTokenSource
  /** Stores events while the database is unavailable. The caller closes it after this module has stopped. */
  spool?: OpenSpool | undefined
}

/** Cached types: senders choose them, so their number is bounded. */
const mostCached = 1_000

/**
 * Returns what finds the handlers that match a type, the most specific first. With `typesHaveActions`, a handler for `issues` matches
 * `issues.opened`.
 */
export function matchHandlers(handlers: readonly RegisteredHandler[]) {
  const { exact = [], patterns = [] } = Object.groupBy(handlers, ({ key }) =>
    isPattern(key) ? 'patterns' : 'exact',
  )
  const byKey = new Map(exact.map((handler) => [handler.key, handler]))
  patterns.sort((a, b) => bySpecificity(a.key, b.key))
  const found = new BoundedCache<string, readonly RegisteredHandler[]>(mostCached)
  return (type: string, typesHaveActions = false): readonly RegisteredHandler[] => {
    const key = typesHaveActions ? `${type}\n` : type
    const known = found.get(key)
    if (known) return known
    const kind = typesHaveActions && type.includes('.') ? type.slice(0, type.indexOf('.')) : undefined
    const matching = [
      byKey.get(type),
      kind === undefined ? undefined : byKey.get(kind),
      ...patterns.filter((handler) => matchesPattern(handler.key, type)),
    ].filter((handler) => handler !== undefined)
    found.set(key, matching)
    return matching
  }
}

/** The id of what forwards the events of a source. */
const forwardId = (source: string): string => `forwardTo:${source}`

/** How the events of each source and type are handled. */
export function planHandling(parts: ReceivingParts) {
  const { configuration, config = {}, database, clock, keyring } = parts
  const { handlerTimeout } = configuration
  const sources = readSources(config.sources, configuration)
  const declared = readHandlers(config.handlers, handlerTimeout, parts.providerTokens, config.eventTypes)
  const handlersOf = matchHandlers(declared)
  // The operator chooses these addresses, and most of them are private.
  const agent = createOutboundAgent({ allowPrivateNetwork: true })
  const { allowPrivateNetwork } = configuration
  const outside = openGuardedFetch({ allowPrivateNetwork, timeout: 5_000, responseLimit: 256 * 1024 })
  const forwards = new Map<string, readonly RegisteredHandler[]>()
  const entries: HandlerEntry[] = declared.map((handler) => ({ handler }))
  for (const [name, { forwardTo: target }] of sources) {
    if (target === undefined) continue
    const handle = forwardTo(urlOf(target), keysOf(target, name, keyring), agent, clock)
    const handler: RegisteredHandler = {
      id: forwardId(name),
      key: 'forwardTo',
      handle,
      timeout: handlerTimeout,
      concurrency: undefined,
      orderBy: undefined,
    }
    forwards.set(name, [handler])
    entries.push({ handler, forward: { source: name, to: withoutCredentials(urlOf(target)) } })
  }
  const planOf = plansOver(
    database.engine,
    (source, type) => forwards.get(source) ?? handlersOf(type, sources.get(source)?.typesHaveActions),
  )
  return {
    sources,
    declared,
    entries,
    planOf,
    fetchKeys: outside.fetch,
    close: () => Promise.all([agent.destroy(), outside.destroy()]),
  }
}
