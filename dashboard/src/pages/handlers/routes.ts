import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/handlers',
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const handlerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/handlers/$id',
  component: page(() => import('./handler-page.tsx'), 'HandlerPage'),
})

export const handlerRoutes = [listRoute, handlerRoute] as const
