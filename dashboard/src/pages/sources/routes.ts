import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sources',
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const sourceRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sources/$name',
  validateSearch: texts('tab'),
  component: page(() => import('./source-page.tsx'), 'SourcePage'),
})

export const sourceRoutes = [listRoute, sourceRoute] as const
