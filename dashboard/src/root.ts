import { createRootRoute, lazyRouteComponent, retainSearchParams } from '@tanstack/react-router'
import { NotFoundPage, RouteProblem } from './layout/faults.tsx'
import { Layout } from './layout/layout.tsx'
import { isRange, type Range } from './layout/time-range.ts'

/** The frame of all pages. The time range is part of every address. */
export const rootRoute = createRootRoute({
  validateSearch: ({ range }: Record<string, unknown>): { range?: Range } =>
    isRange(range) ? { range } : {},
  search: { middlewares: [retainSearchParams(['range'])] },
  component: Layout,
  notFoundComponent: NotFoundPage,
  errorComponent: RouteProblem,
})

/** A page whose script is loaded when it is opened. */
export const page = lazyRouteComponent

/**
 * Reads the named search parameters of an address as texts, for `validateSearch`. Others, and empty ones, are left out.
 * @example validateSearch: texts('status', 'q')
 */
export const texts =
  <const Name extends string>(...names: Name[]) =>
  (search: Record<string, unknown>): { [N in Name]?: string } => {
    const found: Partial<Record<Name, string>> = {}
    for (const name of names) {
      const value = search[name]
      if (typeof value === 'number' || (typeof value === 'string' && value !== ''))
        found[name] = String(value)
    }
    return found
  }
