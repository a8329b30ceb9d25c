import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/customers',
  validateSearch: texts('q'),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const customerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/customers/$owner',
  component: page(() => import('./customer-page.tsx'), 'CustomerPage'),
})

export const customerRoutes = [listRoute, customerRoute] as const
