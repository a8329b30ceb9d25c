import { createRoute } from '@tanstack/react-router'
import { page, rootRoute, texts } from '../../root.ts'

const getParentRoute = () => rootRoute

const overviewRoute = createRoute({
  getParentRoute,
  path: '/system',
  component: page(() => import('./overview-page.tsx'), 'OverviewPage'),
})
const keysRoute = createRoute({
  getParentRoute,
  path: '/system/keys',
  component: page(() => import('./keys-page.tsx'), 'KeysPage'),
})
const jobsRoute = createRoute({
  getParentRoute,
  path: '/system/jobs',
  validateSearch: texts('kind', 'status'),
  component: page(() => import('./jobs-page.tsx'), 'JobsPage'),
})
const queuesRoute = createRoute({
  getParentRoute,
  path: '/system/queues',
  component: page(() => import('./queues-page.tsx'), 'QueuesPage'),
})
const retentionRoute = createRoute({
  getParentRoute,
  path: '/system/retention',
  component: page(() => import('./retention-page.tsx'), 'RetentionPage'),
})
const settingsRoute = createRoute({
  getParentRoute,
  path: '/system/settings',
  validateSearch: texts('q', 'origin'),
  component: page(() => import('./settings-page.tsx'), 'SettingsPage'),
})
const doctorRoute = createRoute({
  getParentRoute,
  path: '/system/doctor',
  component: page(() => import('./doctor-page.tsx'), 'DoctorPage'),
})
const auditRoute = createRoute({
  getParentRoute,
  path: '/system/audit',
  validateSearch: texts('action', 'userId', 'actor', 'target', 'address', 'supportId', 'result'),
  component: page(() => import('./audit-page.tsx'), 'AuditPage'),
})

export const systemRoutes = [
  overviewRoute,
  keysRoute,
  jobsRoute,
  queuesRoute,
  retentionRoute,
  settingsRoute,
  doctorRoute,
  auditRoute,
] as const
