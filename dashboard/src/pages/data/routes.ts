import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const dataRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/data',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const dataRoutes = [dataRoute] as const
