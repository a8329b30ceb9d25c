import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const handlerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/handlers',
  component: page(() => import('../placeholder.tsx'), 'Placeholder'),
})

export const handlerRoutes = [handlerRoute] as const
