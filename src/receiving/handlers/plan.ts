import type { Engine } from '../../storage/query-runner.ts'
import type { OrderBy, RegisteredHandler } from './declared-handlers.ts'

/** At most `limit` handlers of `key` run at once. */
export interface Bound {
  readonly key: string
  readonly limit: number
}

/** How the events of one source and type are handled. */
export interface Plan {
  /** Empty if no handler matches: then no handler runs, and due events are marked after a while. */
  readonly handlers: readonly RegisteredHandler[]
  /** By source and most specific handler, so that a slow group does not delay the others. */
  readonly group: Bound & {
    /** The limit while its handlers are instant. */
    readonly instantLimit: number
  }
  /** The concurrency that handlers declare. Unlike the limit of the group, it holds across groups, sources and processes. */
  readonly bounds: readonly Bound[]
  /** Milliseconds that all handlers may take together. */
  readonly timeout: number
  /** The order of their events, by the most specific handler that declares one. */
  readonly order: { readonly handler: string; readonly by: OrderBy } | undefined
}

export type PlanOf = (source: string, type: string) => Plan

/** Events of one group that are handled at once, unless its handler declares another number. */
const perGroup = 8
/**
 * The same for instant handlers. They mostly wait for the database: on PostgreSQL more of them share a round trip, and some run
 * while others are answered. On SQLite they take turns, and more of them would only wait.
 */
const perInstantGroup: Readonly<Record<Engine, number>> = { sqlite: perGroup, postgres: 64 }

/** @param handlersOf must return the same array for the same handlers, because plans are cached by it. */
export function plansOver(
  engine: Engine,
  handlersOf: (source: string, type: string) => readonly RegisteredHandler[],
): PlanOf {
  const instantLimit = perInstantGroup[engine]
  const plans = new Map<string, WeakMap<readonly RegisteredHandler[], Plan>>()
  return (source, type) => {
    const handlers = handlersOf(source, type)
    let ofSource = plans.get(source)
    if (!ofSource) plans.set(source, (ofSource = new WeakMap()))
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
