import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Configuration } from '../config/environment.ts'
import { newToken } from '../crypto/tokens.ts'
import type { App } from '../http/app.ts'
import type { BuiltInProvider } from '../login/index.ts'
import type { Log } from '../telemetry/log.ts'

const name = 'demo'
const mountPath = '/demo-idp'

export interface DemoIdentityProvider {
  /** How the login room reaches it. */
  provider: BuiltInProvider
  routes(app: App): Promise<void>
}

/**
 * The identity provider of demo mode: a real OpenID provider below /demo-idp of the service itself, so that signing in
 * works before anything was registered anywhere. It is loaded when somebody first signs in with it.
 */
export function createDemoIdentityProvider({
  configuration,
  baseUrl,
  log,
}: {
  configuration: Configuration
  baseUrl: () => string
  log: Log
}): DemoIdentityProvider {
  const client = { id: 'postern', secret: newToken() }
  let server: Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> | undefined
  const load = async () => {
    const { createOpenIdServer } = await import('./openid-server.ts')
    const origin = baseUrl()
    return createOpenIdServer({
      mountPath,
      origin,
      admins: new Set(
        configuration.adminIdentities
          .filter(({ provider }) => provider === name)
          .map(({ providerId }) => providerId),
      ),
      client: { ...client, redirectUri: `${origin}/auth/demo/callback` },
      onError: (error) => log.error({ err: error }, 'the development identity provider failed'),
    })
  }
  const loaded = () => (server ??= load())
  return {
    provider: {
      name,
      label: 'the development provider',
      clientId: client.id,
      clientSecret: client.secret,
      issuer: () => baseUrl() + mountPath,
      scope: 'openid email profile',
      loaded,
    },
    async routes(app) {
      await app.register(async (scope: App) => {
        // The provider reads the bodies of its requests by itself.
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser('*', ({ raw }, _payload, done) => {
          raw.sendContinue?.()
          done(null)
        })
        scope.all(
          `${mountPath}/*`,
          { config: { access: 'public' }, schema: { hide: true } },
          async (request, reply) => {
            const handle = await loaded()
            // What it sends goes past the framework, with the headers that it sets itself and these.
            const { common } = scope.securityHeaders
            for (let at = 0; at < common.length; at += 2) reply.raw.setHeader(common[at]!, common[at + 1]!)
            reply.hijack()
            try {
              await handle(request.raw, reply.raw)
            } catch (error) {
              log.error({ err: error }, 'the development identity provider failed')
              reply.raw.destroy()
            }
          },
        )
      })
    },
  }
}
