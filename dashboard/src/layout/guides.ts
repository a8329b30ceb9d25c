/** The page of the guide about each page of the dashboard, by its route. A route without an entry takes that of the route above it. */
export const guides: Readonly<Record<string, string>> = {
  '/': 'guides/dashboard.html',
  '/events': 'guides/receiving/events.html',
  '/failures': 'guides/receiving/again.html',
  '/sources': 'guides/senders.html',
  '/handlers': 'guides/receiving/handling.html',
  '/deliveries': 'guides/emitting/retries.html',
  '/subscribers': 'guides/emitting.html',
  '/event-types': 'guides/customers/catalogue.html',
  '/customers': 'guides/customers.html',
  '/alerts': 'guides/operating/alerts.html',
  '/users': 'guides/accounts.html',
  '/invitations': 'guides/accounts/invitations.html',
  '/providers': 'guides/providers.html',
  '/apps': 'guides/apps.html',
  '/data': 'guides/lists.html',
  '/system': 'guides/operating.html',
  '/system/keys': 'guides/operating/access.html',
  '/system/queues': 'guides/operating/monitoring.html',
  '/system/retention': 'guides/operating/retention.html',
  '/system/jobs': 'guides/receiving/again.html',
  '/system/settings': 'reference/settings.html',
  '/system/doctor': 'reference/commands.html',
  '/system/audit': 'guides/accounts/audit-log.html',
}

/** The address below /docs/guide. */
export function guideOf(route: string): string | undefined {
  for (let path = route; path !== ''; path = path.slice(0, path.lastIndexOf('/')))
    if (guides[path] !== undefined) return guides[path]
  return undefined
}
