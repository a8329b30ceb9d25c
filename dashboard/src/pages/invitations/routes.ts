import { createRoute } from '@tanstack/react-router'
import { page, rootRoute } from '../../root.ts'

const invitationsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/invitations',
  component: page(() => import('./invitations-page.tsx'), 'InvitationsPage'),
})

export const invitationRoutes = [invitationsRoute] as const
