import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const providerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/providers',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const providerRoutes = [providerRoute] as const
