import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/subscribers',
  validateSearch: texts('state', 'owner', 'url'),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const newRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/subscribers/new',
  validateSearch: texts('owner'),
  component: page(() => import('./new-page.tsx'), 'NewPage'),
})

const subscriberRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/subscribers/$id',
  validateSearch: texts('tab', 'status', 'type'),
  component: page(() => import('./subscriber-page.tsx'), 'SubscriberPage'),
})

export const subscriberRoutes = [listRoute, newRoute, subscriberRoute] as const
