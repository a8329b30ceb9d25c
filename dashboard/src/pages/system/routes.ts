import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const component = page(() => import('../placeholder.tsx'), 'Placeholder')
const systemRoute = createRoute({ getParentRoute: () => rootRoute, path: '/system', component })
const keysRoute = createRoute({ getParentRoute: () => rootRoute, path: '/system/keys', component })
const auditRoute = createRoute({ getParentRoute: () => rootRoute, path: '/system/audit', component })

export const systemRoutes = [systemRoute, keysRoute, auditRoute] as const
