import type { Engine } from '../storage/query-runner.ts'
import type { OrderBy, RegisteredHandler } from './declared-handlers.ts'

/** At most so many of what `key` names at once. */
export interface Bound {
  readonly key: string
  readonly limit: number
}

/** How the events of one source and type are handled. */
export interface Plan {
  /** None when nobody handles them: then they are marked, and that is all. */
  readonly handlers: readonly RegisteredHandler[]
  /** Source and most particular handler: what is slow for one of these must not hold up another. */
  readonly group: Bound & {
    /** What the limit is instead while its handlers hardly take any time. */
    readonly instantLimit: number
  }
  /** The handlers that have a concurrency of their own, whatever the source. */
  readonly bounds: readonly Bound[]
  /** Milliseconds that all handlers may take together. */
  readonly timeout: number
  /** How their events are ordered, by the most particular handler that says so. */
  readonly order: { readonly handler: string; readonly by: OrderBy } | undefined
}

export type PlanOf = (source: string, type: string) => Plan

/** Events of one group that are worked on at once, unless its handler says otherwise. */
const perGroup = 8
/**
 * The same while its handlers hardly take any time. They wait for the database mostly: on PostgreSQL more of them share a
 * round trip, and while some of them are answered others run. On SQLite they have turns, and more would only wait.
 */
const perInstantGroup: Readonly<Record<Engine, number>> = { sqlite: perGroup, postgres: 64 }

/** @param handlersOf gives the same array each time for what it remembers: plans are kept by it. */
export function plansOver(
  engine: Engine,
  handlersOf: (source: string, type: string) => readonly RegisteredHandler[],
): PlanOf {
  const instantLimit = perInstantGroup[engine]
  const kept = new Map<string, WeakMap<readonly RegisteredHandler[], Plan>>()
  return (source, type) => {
    const handlers = handlersOf(source, type)
    let ofSource = kept.get(source)
    if (!ofSource) kept.set(source, (ofSource = new WeakMap()))
    let plan = ofSource.get(handlers)
    if (!plan) ofSource.set(handlers, (plan = makePlan(source, handlers, instantLimit)))
    return plan
  }
}

function makePlan(source: string, handlers: readonly RegisteredHandler[], instantLimit: number): Plan {
  const [first] = handlers
  return {
    handlers,
    group: {
      key: `${source} ${first?.key ?? ''}`,
      limit: first?.concurrency ?? perGroup,
      instantLimit: first?.concurrency ?? instantLimit,
    },
    bounds: handlers.flatMap(({ key, concurrency }) =>
      concurrency === undefined ? [] : [{ key, limit: concurrency }],
    ),
    timeout: handlers.reduce((sum, { timeout }) => sum + timeout, 0),
    order: handlers.flatMap(({ key, orderBy }) => (orderBy ? [{ handler: key, by: orderBy }] : []))[0],
  }
}
