import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const sourceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sources',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const sourceRoutes = [sourceRoute] as const
