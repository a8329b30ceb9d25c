import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const accountRoutes = [accountRoute] as const
