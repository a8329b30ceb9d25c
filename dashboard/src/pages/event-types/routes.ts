import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/event-types',
  validateSearch: texts('q'),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const typeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/event-types/$type',
  component: page(() => import('./type-page.tsx'), 'TypePage'),
})

export const eventTypeRoutes = [listRoute, typeRoute] as const
