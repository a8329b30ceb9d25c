import { ConfigurationError } from '../config/environment.ts'
import type { Handler } from './config.ts'

/** Types whose handlers are remembered; senders choose the types, so their number is bounded. */
const remembered = 1_000
const patternForm = /^(?:\*|[^*]+\.\*|[^*]+)$/

/** Finds the handlers of a type. */
export class Handlers {
  readonly #exact: ReadonlyMap<string, Handler>
  /** The longest prefix first; `*` is the empty one. */
  readonly #prefixes: readonly { prefix: string; handler: Handler }[]
  readonly #found = new Map<string, readonly Handler[]>()

  /** @throws ConfigurationError for a key that is no type and no pattern, or a value that is no function. */
  constructor(handlers: Readonly<Record<string, Handler>> = {}) {
    const faults = Object.entries(handlers).flatMap(([key, handler]) => {
      if (!patternForm.test(key))
        return [`receiving.handlers: ${JSON.stringify(key)} is neither a type, nor type.*, nor *`]
      return typeof handler === 'function'
        ? []
        : [`receiving.handlers[${JSON.stringify(key)}] is not a function`]
    })
    if (faults.length > 0) throw new ConfigurationError(faults)
    const entries = Object.entries(handlers)
    this.#exact = new Map(entries.filter(([key]) => !key.endsWith('*')))
    this.#prefixes = entries
      .filter(([key]) => key.endsWith('*'))
      .map(([key, handler]) => ({ prefix: key.slice(0, -1), handler }))
      .toSorted((a, b) => b.prefix.length - a.prefix.length)
  }

  /**
   * All handlers that match, the most particular first. With `typesHaveActions` a handler for `issues` matches
   * `issues.opened` too.
   */
  of(type: string, typesHaveActions = false): readonly Handler[] {
    const key = typesHaveActions ? `${type}\n` : type
    const known = this.#found.get(key)
    if (known) return known
    const kind = typesHaveActions && type.includes('.') ? type.slice(0, type.indexOf('.')) : undefined
    const matching = [
      this.#exact.get(type),
      kind === undefined ? undefined : this.#exact.get(kind),
      ...this.#prefixes.filter(({ prefix }) => type.startsWith(prefix)).map(({ handler }) => handler),
    ].filter((handler) => handler !== undefined)
    if (this.#found.size >= remembered) this.#found.clear()
    this.#found.set(key, matching)
    return matching
  }
}
