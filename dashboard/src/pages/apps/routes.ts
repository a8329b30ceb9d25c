import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const appsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/apps',
  validateSearch: texts('new'),
  component: page(() => import('./apps-page.tsx'), 'AppsPage'),
})

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/apps/$id',
  validateSearch: texts('tab'),
  component: page(() => import('./app-page.tsx'), 'AppPage'),
})

export const appRoutes = [appsRoute, appRoute] as const
