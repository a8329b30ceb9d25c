// As much of React as the components of the client library use: renders function components with their state to text.
import type { ReactNode } from 'react'

interface Element {
  type: unknown
  props: Record<string, unknown>
}
interface Hooks {
  states: unknown[]
  next: number
}

const contexts = new Map<object, unknown>()
const hooksOf = new Map<string, Hooks>()
const done = new Map<string, readonly unknown[]>()
let current: Hooks = { states: [], next: 0 }
let place = ''
let effects: (() => void)[] = []

export function createElement(type: unknown, props: object | null, ...children: unknown[]): Element {
  const own: Record<string, unknown> = { ...props }
  if (children.length > 0) own['children'] = children.length === 1 ? children[0] : children
  return { type, props: own }
}

export function createContext<T>(value: T): { Provider: { context: object } } {
  const context = { Provider: {} as { context: object } }
  context.Provider.context = context
  contexts.set(context, value)
  return context
}

export const useContext = (context: object): unknown => contexts.get(context)

export function useState<T>(initial: T): [T, (next: T) => void] {
  const { states } = current
  const index = current.next++
  if (!(index in states)) states[index] = initial
  return [states[index] as T, (next) => void (states[index] = next)]
}

export function useMemo<T>(make: () => T, dependencies: readonly unknown[]): T {
  const [kept] = useState<{ value?: T; dependencies?: readonly unknown[] }>({})
  if (!same(kept.dependencies, dependencies)) Object.assign(kept, { value: make(), dependencies })
  return kept.value!
}

export function useEffect(effect: () => void, dependencies: readonly unknown[]): void {
  const key = `${place} ${current.next++}`
  if (same(done.get(key), dependencies)) return
  done.set(key, dependencies)
  effects.push(effect)
}

const same = (a: readonly unknown[] | undefined, b: readonly unknown[]): boolean =>
  a !== undefined && a.length === b.length && a.every((value, index) => value === b[index])

/** Forgets the state of all components. */
export function unmount(): void {
  hooksOf.clear()
  done.clear()
}

/** The text of the elements, with `[…]` around buttons; runs effects that are due. `press` finds the handlers of buttons. */
export function render(node: ReactNode): { text: string; press: Map<string, () => void> } {
  const press = new Map<string, () => void>()
  effects = []
  const text = write(node, 'root', press)
  for (const effect of effects) effect()
  return { text, press }
}

function write(node: unknown, path: string, press: Map<string, () => void>): string {
  if (node === null || node === undefined || typeof node === 'boolean') return ''
  if (typeof node === 'string' || typeof node === 'number') return String(node)
  if (Array.isArray(node)) return node.map((child, index) => write(child, `${path}/${index}`, press)).join('')
  const { type, props } = node as Element
  const children = (): string => write(props['children'], `${path}/c`, press)
  if (typeof type === 'function') {
    current = hooksOf.get(path) ?? { states: [], next: 0 }
    current.next = 0
    hooksOf.set(path, current)
    place = path
    return write((type as (own: object) => unknown)(props), `${path}/r`, press)
  }
  if (typeof type === 'object' && type !== null) {
    contexts.set((type as { context: object }).context, props['value'])
    return children()
  }
  if (type !== 'button') return children()
  const label = children()
  press.set(label, props['onClick'] as () => void)
  return `[${label}]`
}
