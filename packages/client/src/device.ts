import { sleep } from './api/retry.ts'
import { PosternError, UnavailableError } from './errors.ts'
import { addressOf, type Fetch } from './http.ts'
import { postForm, requestTokens, type Tokens } from './oauth.ts'

export * from './errors.ts'
export type { Tokens } from './oauth.ts'

export interface DeviceCode {
  /** What the person types at `verificationUri`. */
  userCode: string
  verificationUri: string
  /** The same with the code in it, for a link or a QR code. */
  verificationUriComplete?: string
  /** Seconds. */
  expiresIn: number
}

export interface DeviceOptions {
  /** The address of the service. */
  url: string
  clientId: string
  /** Space-separated. */
  scope?: string | undefined
  /** Shows the code to the person. */
  onCode: (code: DeviceCode) => void | Promise<void>
  signal?: AbortSignal | undefined
  fetch?: Fetch | undefined
  /** Milliseconds for one answer. Default 10,000. */
  timeout?: number | undefined
}

interface DeviceAnswer {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete?: string
  expires_in: number
  interval?: number
}

/** Seconds between two questions unless the service says otherwise, and what `slow_down` adds (RFC 8628, section 3.5). */
const usualInterval = 5
const slowDown = 5
const grant = 'urn:ietf:params:oauth:grant-type:device_code'

/**
 * Signs a person in on a device without a browser (RFC 8628): the person opens a page elsewhere and enters the code, while this
 * asks again and again for the tokens.
 * @throws PosternError `access_denied`, `expired_token`; the reason of the signal when it was aborted.
 */
export async function deviceSignIn(options: DeviceOptions): Promise<Tokens> {
  const { url, clientId, scope, onCode, signal, fetch, timeout = 10_000 } = options
  const http = { fetch, timeout, signal }
  const fields = { client_id: clientId, scope }
  const answer = await postForm<DeviceAnswer>(addressOf(url, '/oauth2/device_authorization'), fields, http)
  const expiresAt = Date.now() + answer.expires_in * 1000
  await onCode({
    userCode: answer.user_code,
    verificationUri: answer.verification_uri,
    ...(answer.verification_uri_complete !== undefined && {
      verificationUriComplete: answer.verification_uri_complete,
    }),
    expiresIn: answer.expires_in,
  })
  const poll = { grant_type: grant, client_id: clientId, device_code: answer.device_code }
  for (let interval = answer.interval ?? usualInterval; ;) {
    await sleep(interval * 1000, signal)
    try {
      return await requestTokens(addressOf(url, '/oauth2/token'), poll, http)
    } catch (error) {
      interval = nextInterval(error, interval)
      if (Date.now() >= expiresAt) throw error
    }
  }
}

/** Seconds before the next question. @throws the error, when the answer will not change. */
function nextInterval(error: unknown, interval: number): number {
  if (!(error instanceof PosternError)) throw error
  if (error.code === 'authorization_pending') return interval
  if (error.code === 'slow_down') return interval + slowDown
  // RFC 8628, section 3.5: after a failure of the network, less often.
  if (error instanceof UnavailableError || error.status === 429)
    return Math.max(interval * 2, error.retryAfter ?? 0)
  throw error
}
