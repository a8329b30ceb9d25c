import { createSweeper } from '../runtime/worker.ts'
import type { ServiceModule } from '../http/service-module.ts'
import { withForms } from '../http/requests/parameters.ts'
import type { EndSessionRequest } from './provider-client/provider-server.ts'
import { callbackRoute, formPostRoute } from './flow/callback-route.ts'
import { linkRoute, startRoute } from './flow/start-route.ts'
import { providersRoutes } from './providers-routes.ts'
import { pageRoutes, redirectToBaseUrl } from './page-routes.ts'
import type { SignInNative } from '../accounts/index.ts'
import { nativeSignIn } from './native-sign-in.ts'
import type { ProviderTokens } from './provider-tokens.ts'
import { createLoginServices, type LoginParts } from './services.ts'

export interface Login extends ServiceModule {
  /** For handlers: access tokens of users at providers with `keepTokens`. */
  providerTokens: ProviderTokens
  /** Whether a provider of this name is configured. */
  isProvider: (name: string) => boolean
  /** For apps that got an id_token from a provider's SDK. */
  signInNative: SignInNative
  /** Where a browser ends its session at a provider; `undefined` when the sign-out ends here. */
  endSessionUrl: (provider: string, request: EndSessionRequest) => Promise<URL | undefined>
}

/**
 * Sign-in through identity providers.
 * @throws ConfigurationError with all errors of the configured providers and hooks.
 */
export function createLogin(parts: LoginParts): Login {
  const services = createLoginServices(parts)
  const { providers, providerTokens, closeConnections, flows, clock, log, demo, baseUrl } = services
  return {
    providerTokens,
    isProvider: (name) => providers.has(name),
    signInNative: nativeSignIn(services),
    endSessionUrl: async (provider, request) => providers.get(provider)?.endSessionUrl(request),
    async routes(app) {
      app.addHook('onClose', () => closeConnections())
      // A browser's sign-in: start, callback, link.
      await withForms(app, (routes) => {
        if (demo) redirectToBaseUrl(routes, baseUrl)
        startRoute(routes, services)
        callbackRoute(routes, services)
        linkRoute(routes, services)
      })
      await formPostRoute(app, providers)
      await pageRoutes(app, services)
      providersRoutes(app, services)
    },
    workers: [createSweeper('sign-ins', clock, log, [(now) => flows.sweep(now)])],
  }
}
