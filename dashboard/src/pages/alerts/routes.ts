import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const alertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const alertRoutes = [alertRoute] as const
