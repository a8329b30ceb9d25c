import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const subscriberRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/subscribers',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const subscriberRoutes = [subscriberRoute] as const
