import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/failures',
  validateSearch: texts('handler'),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const failureRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/failures/$id',
  component: page(() => import('./failure-page.tsx'), 'FailurePage'),
})

export const failureRoutes = [listRoute, failureRoute] as const
