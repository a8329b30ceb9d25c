import { OAuthError } from '../oauth-error.ts'
import { narrowed, type Grant } from '../token/grants.ts'
import type { DeviceCodes, Poll } from './device-codes.ts'

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The errors of RFC 8628, section 3.5. */
const errors: Partial<Record<Poll['state'], readonly [error: string, description: string]>> = {
  pending: ['authorization_pending', 'the person has not decided yet'],
  'too-fast': ['slow_down', 'wait five seconds longer between two calls'],
  expired: ['expired_token', 'the code has expired: start again'],
  denied: ['access_denied', 'the person did not allow this'],
}

export function deviceCodeGrant(deviceCodes: DeviceCodes): Grant {
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
