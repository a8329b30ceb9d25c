import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const deliveryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const deliveryRoutes = [deliveryRoute] as const
