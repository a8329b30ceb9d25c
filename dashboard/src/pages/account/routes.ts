import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
  validateSearch: texts('tab'),
  component: page(() => import('./account-page.tsx'), 'AccountPage'),
})

export const accountRoutes = [accountRoute] as const
