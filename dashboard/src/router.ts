import { createRouter } from '@tanstack/react-router'
import { boot } from './api/boot.ts'
import { RouteProblem } from './layout/faults.tsx'
import { accountRoutes } from './pages/account/routes.ts'
import { alertRoutes } from './pages/alerts/routes.ts'
import { appRoutes } from './pages/apps/routes.ts'
import { customerRoutes } from './pages/customers/routes.ts'
import { dataRoutes } from './pages/data/routes.ts'
import { deliveryRoutes } from './pages/deliveries/routes.ts'
import { eventTypeRoutes } from './pages/event-types/routes.ts'
import { eventRoutes } from './pages/events/routes.ts'
import { failureRoutes } from './pages/failures/routes.ts'
import { handlerRoutes } from './pages/handlers/routes.ts'
import { homeRoutes } from './pages/home/routes.ts'
import { invitationRoutes } from './pages/invitations/routes.ts'
import { providerRoutes } from './pages/providers/routes.ts'
import { sourceRoutes } from './pages/sources/routes.ts'
import { subscriberRoutes } from './pages/subscribers/routes.ts'
import { systemRoutes } from './pages/system/routes.ts'
import { userRoutes } from './pages/users/routes.ts'
import { rootRoute } from './root.ts'

const routeTree = rootRoute.addChildren([
  ...homeRoutes,
  ...eventRoutes,
  ...failureRoutes,
  ...sourceRoutes,
  ...handlerRoutes,
  ...deliveryRoutes,
  ...subscriberRoutes,
  ...eventTypeRoutes,
  ...customerRoutes,
  ...alertRoutes,
  ...userRoutes,
  ...invitationRoutes,
  ...providerRoutes,
  ...appRoutes,
  ...dataRoutes,
  ...systemRoutes,
  ...accountRoutes,
])

export const router = createRouter({
  routeTree,
  basepath: `${boot.basePath}/dashboard`,
  defaultPreload: 'intent',
  // Within the frame.
  defaultErrorComponent: RouteProblem,
  scrollRestoration: true,
  // Forms, answers and secrets of one thing must not stay on the page of another.
  defaultRemountDeps: ({ params }) => params,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
