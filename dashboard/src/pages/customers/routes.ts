import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const customerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/customers',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const customerRoutes = [customerRoute] as const
