import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const alertRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts',
  validateSearch: texts('destination'),
  component: page(() => import('./alerts-page.tsx'), 'AlertsPage'),
})

export const alertRoutes = [alertRoute] as const
