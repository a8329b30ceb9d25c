import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'
import { readListSearch } from './list-search.ts'

const dataRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/data',
  component: page(() => import('./lists-page.tsx'), 'ListsPage'),
})

/** The rest of the address is the path of the list, such as `/data/api/posts`. */
const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/data/$',
  validateSearch: readListSearch,
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

export const dataRoutes = [dataRoute, listRoute] as const
