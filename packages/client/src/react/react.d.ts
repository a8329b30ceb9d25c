// The part of React's types that this package uses, so that its build needs no React. Those who use it have the whole ones.
declare module 'react' {
  export type ReactNode = ReactElement | string | number | boolean | null | undefined | Iterable<ReactNode>
  export interface ReactElement {
    type: unknown
    props: unknown
    key: string | null
  }
  export interface Context<T> {
    Provider: (props: { value: T; children?: ReactNode }) => ReactElement
  }
  export function createContext<T>(value: T): Context<T>
  export function createElement<P extends object>(
    type: string | ((props: P) => ReactNode),
    props: P | null,
    ...children: ReactNode[]
  ): ReactElement
  export function useContext<T>(context: Context<T>): T
  export function useEffect(effect: () => (() => void) | undefined, dependencies: readonly unknown[]): void
  export function useMemo<T>(make: () => T, dependencies: readonly unknown[]): T
  export function useState<T>(initial: T): [T, (next: T) => void]
}
