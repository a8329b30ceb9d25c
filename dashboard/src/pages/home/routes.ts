import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../root.ts'
import { HomePage } from './home-page.tsx'

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  // Part of the first view, so that it needs no request of its own. It imports single parts: all of them would be 60 KB more.
  component: HomePage,
})

export const homeRoutes = [homeRoute] as const
