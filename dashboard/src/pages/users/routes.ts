import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const usersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/users',
  validateSearch: texts('q', 'role', 'blocked', 'provider', 'seen', 'sort', 'page'),
  component: page(() => import('./users-page.tsx'), 'UsersPage'),
})

const userRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/users/$id',
  validateSearch: texts('tab'),
  component: page(() => import('./user-page.tsx'), 'UserPage'),
})

export const userRoutes = [usersRoute, userRoute] as const
