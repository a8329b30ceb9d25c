import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const userRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/users',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const userRoutes = [userRoute] as const
