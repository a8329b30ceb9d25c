import { withForms } from '../http/requests/forms.ts'
import type { App } from '../http/app.ts'
import { callbackRoute, type CallbackRouteParts } from './flow/callback-route.ts'
import { redirectToBaseUrl } from './demo-host-redirect.ts'
import { linkRoute, type LinkRouteParts } from './flow/link-route.ts'
import { startRoute, type StartRouteParts } from './flow/start-route.ts'

export interface LoginRoutesParts extends StartRouteParts, CallbackRouteParts, LinkRouteParts {
  demo: boolean
}

/** The routes of a browser's sign-in: start, callback, link. */
export async function loginRoutes(app: App, parts: LoginRoutesParts): Promise<void> {
  await withForms(app, (routes) => {
    if (parts.demo) redirectToBaseUrl(routes, parts.baseUrl)
    startRoute(routes, parts)
    callbackRoute(routes, parts)
    linkRoute(routes, parts)
  })
}
