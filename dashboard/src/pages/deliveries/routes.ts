import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries',
  validateSearch: texts('status', 'subscriber', 'owner', 'type', 'event', 'response'),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const deliveryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries/$id',
  validateSearch: texts('attempt'),
  component: page(() => import('./delivery-page.tsx'), 'DeliveryPage'),
})

export const deliveryRoutes = [listRoute, deliveryRoute] as const
