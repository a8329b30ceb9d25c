import type { Accounts } from '../../accounts/index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { App } from '../../http/app.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { ClientAuthentication } from '../clients/client-authentication.ts'
import type { Clients } from '../clients/clients.ts'
import { Consents } from '../consent/consents.ts'
import { codeLifetime, DeviceCodes, type Poll, pollInterval } from './device-codes.ts'
import { deviceRoutes } from './device-routes.ts'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { withForms } from '../../http/requests/parameters.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import { AuthorizationError, clientCall, OAuthError } from '../oauth-error.ts'
import { resourceOf, scopeOf } from '../authorize/request-parameters.ts'
import type { Client } from '../clients/client.ts'
import { clientCredentials } from '../token/token-call.ts'
import { displayUserCode } from './user-codes.ts'
import { type Grant, narrowed } from '../token/grants.ts'

export interface DeviceSignInParts {
  accounts: Accounts
  clients: Clients
  authentication: ClientAuthentication
  database: Database
  keyring: Keyring
  clock: Clock
  baseUrl: () => string
}

/** Sign-ins of devices without a browser: command lines, televisions. */
export function createDeviceSignIn(parts: DeviceSignInParts) {
  const { accounts, authentication, clients, database, clock, baseUrl } = parts
  const deviceCodes = new DeviceCodes({ ...parts, ...accounts })
  const consents = new Consents(database, clock)
  return {
    grant: deviceCodeGrant(deviceCodes),
    async routes(app: App): Promise<void> {
      await deviceAuthorizationRoute(app, { authentication, deviceCodes, baseUrl })
      await deviceRoutes(app, { ...accounts, clients, deviceCodes, consents, database, baseUrl })
    },
    sweep: (now: number) => deviceCodes.sweep(now),
  }
}

interface DeviceAuthorizationRouteParts {
  authentication: ClientAuthentication
  deviceCodes: DeviceCodes
  baseUrl: () => string
}

const Body = Type.Object({
  ...clientCredentials,
  scope: optionalText('The scopes that the device asks for'),
  resource: optionalText('The API of the access token (RFC 8707)'),
})

const Answer = Type.Object({
  device_code: Type.String(),
  user_code: Type.String({ description: 'For the person, such as WDJB-MJHT' }),
  verification_uri: Type.String({ description: 'Where the person types it' }),
  verification_uri_complete: Type.String({ description: 'The same with the code, for a QR code' }),
  expires_in: Type.Integer({ description: 'Seconds' }),
  interval: Type.Integer({ description: 'Seconds between two polls at least' }),
})

/** POST /oauth2/device_authorization: a device asks for a sign-in (RFC 8628, section 3.1). */
async function deviceAuthorizationRoute(
  app: App,
  { authentication, deviceCodes, baseUrl }: DeviceAuthorizationRouteParts,
): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/oauth2/device_authorization',
      {
        config: { access: 'public', rateLimit: { max: 60, sharedByProcesses: true } },
        ...clientCall('Start a device sign-in (RFC 8628)', Body, Answer),
      },
      async (request, reply) => {
        const { body } = request
        const client = await authentication.authenticate(request, reply, body)
        if (!client.deviceGrant)
          throw new OAuthError('unauthorized_client', 'this app may not use the device grant')
        const wanted = { clientId: client.id, ...grantable(client, body), origin: auditOrigin(request) }
        const { deviceCode, userCode } = await deviceCodes.start(wanted)
        const shown = displayUserCode(userCode)
        const page = `${baseUrl().replace(/(?<!\/)\/+$/, '')}/device`
        return {
          device_code: deviceCode,
          user_code: shown,
          verification_uri: page,
          verification_uri_complete: `${page}?user_code=${shown}`,
          expires_in: codeLifetime,
          interval: pollInterval,
        }
      },
    )
  })
}

/** @throws OAuthError `invalid_scope`, `invalid_target` */
function grantable(client: Client, { scope, resource }: { scope?: string; resource?: string }) {
  try {
    return {
      scope: scopeOf(client, scope),
      resource: resourceOf(client, resource?.split(' ') ?? []),
    }
  } catch (error) {
    if (error instanceof AuthorizationError) throw new OAuthError(error.error, error.message)
    throw error
  }
}

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The errors of RFC 8628, section 3.5. */
const errors: Partial<Record<Poll['state'], readonly [error: string, description: string]>> = {
  pending: ['authorization_pending', 'the person has not decided yet'],
  'too-fast': ['slow_down', 'wait five seconds longer between two calls'],
  expired: ['expired_token', 'the code has expired: start again'],
  denied: ['access_denied', 'the person did not allow this'],
}

function deviceCodeGrant(deviceCodes: DeviceCodes): Grant {
  return {
    credential: ({ device_code: code }) => code,
    invalid: 'the device code is wrong or was used',
    async exchange({ client, body }) {
      const { device_code: code } = body
      if (!client.deviceGrant)
        throw new OAuthError('unauthorized_client', 'this app may not use the device grant')
      if (!code) throw new OAuthError('invalid_request', 'device_code is missing')
      const poll = await deviceCodes.poll(code, client, (family) => void narrowed(client, family, body))
      if (poll.state === 'unknown') return { invalidGrant: true, userId: poll.userId }
      if (poll.state === 'approved') {
        const { family, refreshToken } = poll
        return { family, refreshToken, nonce: null, ...narrowed(client, family, body) }
      }
      throw new OAuthError(...errors[poll.state]!)
    },
  }
}
