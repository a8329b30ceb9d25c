import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/events',
  validateSearch: texts(
    'status',
    'type',
    'source',
    'direction',
    'eventId',
    'orderKey',
    'path',
    'value',
    'text',
    'since',
    'until',
    'peek',
  ),
  component: page(() => import('./list-page.tsx'), 'ListPage'),
})

const eventRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/events/$id',
  validateSearch: texts('panel'),
  component: page(() => import('./event-page.tsx'), 'EventPage'),
})

export const eventRoutes = [listRoute, eventRoute] as const
