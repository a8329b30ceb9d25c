import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const providerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/providers',
  component: page(() => import('./providers-page.tsx'), 'ProvidersPage'),
})

export const providerRoutes = [providerRoute] as const
