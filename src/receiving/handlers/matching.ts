import type { RegisteredHandler } from './declared-handlers.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

/** Cached types: senders choose them, so their number is bounded. */
const mostCached = 1_000

/** Finds the handlers of a type. */
export class Handlers {
  readonly #exact: ReadonlyMap<string, RegisteredHandler>
  /** The longest prefix first; `*` is the empty one. */
  readonly #prefixes: readonly { prefix: string; handler: RegisteredHandler }[]
  readonly #found = new BoundedCache<string, readonly RegisteredHandler[]>(mostCached)

  constructor(handlers: readonly RegisteredHandler[]) {
    const isPattern = ({ key }: RegisteredHandler): boolean => key.endsWith('*')
    this.#exact = new Map(
      handlers.filter((handler) => !isPattern(handler)).map((handler) => [handler.key, handler]),
    )
    this.#prefixes = handlers
      .filter(isPattern)
      .map((handler) => ({ prefix: handler.key.slice(0, -1), handler }))
      .toSorted((a, b) => b.prefix.length - a.prefix.length)
  }

  /** All handlers that match, the most specific first. With `typesHaveActions`, a handler for `issues` matches `issues.opened`. */
  of(type: string, typesHaveActions = false): readonly RegisteredHandler[] {
    const key = typesHaveActions ? `${type}\n` : type
    const known = this.#found.get(key)
    if (known) return known
    const kind = typesHaveActions && type.includes('.') ? type.slice(0, type.indexOf('.')) : undefined
    const matching = [
      this.#exact.get(type),
      kind === undefined ? undefined : this.#exact.get(kind),
      ...this.#prefixes.filter(({ prefix }) => type.startsWith(prefix)).map(({ handler }) => handler),
    ].filter((handler) => handler !== undefined)
    this.#found.set(key, matching)
    return matching
  }
}
