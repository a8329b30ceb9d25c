import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const handlerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/handlers',
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

export const handlerRoutes = [handlerRoute] as const
