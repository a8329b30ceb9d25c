import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const failureRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/failures',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const failureRoutes = [failureRoute] as const
