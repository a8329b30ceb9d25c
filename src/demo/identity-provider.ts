import type { Configuration } from '../config/environment.ts'
import { newToken } from '../crypto/secrets.ts'
import type { App } from '../http/app.ts'
import type { BuiltInProvider } from '../login/services.ts'
import type { Log } from '../telemetry/log.ts'
import type { OpenIdHandler } from './openid-server.ts'

export const demoProviderName = 'demo'
const mountPath = '/demo-idp'

export interface DemoIdentityProvider {
  /** The provider for the login module. */
  provider: BuiltInProvider
  routes(app: App): Promise<void>
}

/**
 * The identity provider of demo mode: an OpenID provider below /demo-idp of the service, so that sign-in works without a
 * registration. It is loaded at the first sign-in.
 */
export function createDemoIdentityProvider(parts: {
  configuration: Configuration
  baseUrl: () => string
  log: Log
}): DemoIdentityProvider {
  const { configuration, baseUrl, log } = parts
  const client = { id: 'postern', secret: newToken() }
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the development identity provider failed')
  let server: Promise<OpenIdHandler> | undefined
  const load = async (): Promise<OpenIdHandler> => {
    const { createOpenIdServer } = await import('./openid-server.ts')
    const publicAddress = baseUrl()
    const admins = configuration.adminIdentities.filter(({ provider }) => provider === demoProviderName)
    return createOpenIdServer({
      mountPath,
      baseUrl: publicAddress,
      admins: new Set(admins.map(({ providerId }) => providerId)),
      client: { ...client, redirectUri: `${publicAddress}/auth/demo/callback` },
      onError,
    })
  }
  const loaded = () => (server ??= load())
  return {
    provider: {
      name: demoProviderName,
      label: 'development provider',
      clientId: client.id,
      clientSecret: client.secret,
      issuer: () => baseUrl() + mountPath,
      scope: 'openid email profile',
      loaded,
    },
    async routes(app) {
      await app.register(async (scope: App) => mountProvider(scope, loaded, onError))
    },
  }
}

/** Passes requests below /demo-idp to the provider, which reads bodies and writes responses itself. */
function mountProvider(
  scope: App,
  loaded: () => Promise<OpenIdHandler>,
  onError: (error: unknown) => void,
): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', ({ raw }, _payload, done) => {
    raw.sendContinue?.()
    done(null)
  })
  const options = { config: { access: 'public' }, logLevel: 'warn', schema: { hide: true } } as const
  scope.all(`${mountPath}/*`, options, async (request, reply) => {
    const handle = await loaded()
    // The answer bypasses Fastify, so the common security headers are set here.
    const { common } = scope.securityHeaders
    for (let at = 0; at < common.length; at += 2) reply.raw.setHeader(common[at]!, common[at + 1]!)
    reply.hijack()
    try {
      await handle(request.raw, reply.raw)
    } catch (error) {
      onError(error)
      reply.raw.destroy()
    }
  })
}
