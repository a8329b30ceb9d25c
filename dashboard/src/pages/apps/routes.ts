import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/apps',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const appRoutes = [appRoute] as const
