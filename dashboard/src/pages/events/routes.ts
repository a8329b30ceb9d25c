import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const eventRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/events',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const eventRoutes = [eventRoute] as const
