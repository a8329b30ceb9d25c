import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const eventTypeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/event-types',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const eventTypeRoutes = [eventTypeRoute] as const
