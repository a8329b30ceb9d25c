/** The page of the guide about each page of the dashboard, by its route. A route without an entry takes that of the route above it. */
export const guides: Readonly<Record<string, string>> = {
  '/': 'guides/dashboard.html',
  '/events': 'guides/receiving.html',
  '/failures': 'guides/receiving.html',
  '/sources': 'guides/senders.html',
  '/handlers': 'guides/handlers.html',
  '/deliveries': 'guides/emitting/retries.html',
  '/subscribers': 'guides/emitting.html',
  '/event-types': 'guides/customers.html',
  '/customers': 'guides/customers.html',
  '/alerts': 'guides/operating/alerts.html',
  '/users': 'guides/accounts.html',
  '/providers': 'guides/providers.html',
  '/apps': 'guides/apps.html',
  '/data': 'guides/lists.html',
  '/system': 'guides/operating.html',
  '/system/keys': 'guides/operating/access.html',
  '/system/queues': 'guides/operating/sizing.html',
  '/system/settings': 'reference/settings.html',
  '/system/doctor': 'reference/commands.html',
  '/system/audit': 'security/logs.html',
}

/** The address below /docs/guide. */
export function guideOf(route: string): string | undefined {
  for (let path = route; path !== ''; path = path.slice(0, path.lastIndexOf('/')))
    if (guides[path] !== undefined) return guides[path]
  return undefined
}
