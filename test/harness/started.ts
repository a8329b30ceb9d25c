import { after, before } from 'node:test'

type Started = { close(): unknown } | { drop(): unknown }

/** What the suites of this process have started, in that order. Suites run one after the other. */
const open: Started[] = []

/**
 * Starts something before the tests of a suite, and closes it after them: what started last is closed first. The result stands for
 * it from then on. Start in the order of dependence: a `start` may use what an earlier one has started.
 */
export function started<T extends Started & object>(start: () => Promise<T>): T {
  let current: T | undefined
  before(async () => {
    current = await start()
    open.push(current)
  })
  after(async () => {
    const last = open.pop()
    if (last) await ('close' in last ? last.close() : last.drop())
  })
  const real = (): T => {
    if (!current) throw new Error('it has not started yet: use it within a test or a hook')
    return current
  }
  return new Proxy({} as T, {
    get(_stand, name) {
      const value: unknown = Reflect.get(real(), name)
      return typeof value === 'function' ? (value.bind(real()) as unknown) : value
    },
    set: (_stand, name, value) => Reflect.set(real(), name, value),
    has: (_stand, name) => Reflect.has(real(), name),
    ownKeys: () => Reflect.ownKeys(real()),
    getOwnPropertyDescriptor: (_stand, name) => {
      const found = Reflect.getOwnPropertyDescriptor(real(), name)
      return found && { ...found, configurable: true }
    },
  })
}
