import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ExchangeRequest, Outcome } from '../../network/exchange.ts'
import type { OutboundAgent } from '../../network/outbound-agent.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RequestOptions } from '../subscribers/request-options.ts'
import type { EndpointTransformation } from '../transformations/transformation.ts'
import type { DestinationCall } from './destination.ts'
import type { Failure } from './failures.ts'
import type { OAuthTokens } from './oauth-tokens.ts'

/** What the attempts of a subscriber need beyond those of others. */
export interface SpecialEndpoint {
  /** Its own connections, with its client certificate or certificate authority. */
  agent?: OutboundAgent | undefined
  tokens?: OAuthTokens | undefined
  gzip: boolean
  /** The prefix of the signature headers. Default: webhook */
  signatureHeaders?: RequestOptions['signatureHeaders']
  /** Whether the body is only the event's data. */
  bare?: boolean
  /** Gets the events in place of a server. */
  destination?: DestinationCall | undefined
  transformation?: EndpointTransformation | undefined
  succeeds?: ((status: number) => boolean) | undefined
  isFinal?: ((status: number) => boolean) | undefined
}

export const compress = promisify(gzip)

interface Sending {
  clock: Clock
  /** Milliseconds for all exchanges together. */
  timeout: number
  /** The reason of an exchange at its time-out. */
  outOfTime: () => Error
}

/**
 * Sends a request with an access token. If the endpoint answers 401 to a token that was used before, sends it once more with a new one.
 * Rejects with the reason of `cut`.
 */
export async function sendWithToken(
  tokens: OAuthTokens,
  agent: OutboundAgent,
  request: ExchangeRequest,
  { clock, timeout, outOfTime }: Sending,
  cut: AbortBroadcast,
): Promise<Outcome | { failure: Failure }> {
  const end = clock.now() + timeout
  for (let sent = 1; ; sent += 1) {
    const got = await within(tokens.get(), end - clock.now(), clock, cut)
    if (got === undefined)
      return { failure: { kind: 'token-failed', message: `no access token within ${timeout / 1000} s` } }
    if ('failure' in got) return got
    if (cut.reason) throw cut.reason
    const headers = { ...request.headers, authorization: `Bearer ${got.token}` }
    const exchange = agent.exchange({ ...request, headers })
    const unlisten = cut.onAbort((reason) => exchange.cut(reason))
    const cancel = clock.after(Math.max(0, end - clock.now()), () => exchange.cut(outOfTime()))
    const outcome = await exchange.ended
    cancel()
    unlisten()
    if (outcome.status !== 401 || cut.reason) return outcome
    tokens.reject(got.token)
    // A token that others fetched meanwhile may be rejected as well.
    if (got.fresh || sent === 2) return outcome
  }
}

/** The result of `promise`, or undefined after `ms` milliseconds. Rejects with the reason of `cut`. */
function within<T>(
  promise: Promise<T>,
  ms: number,
  clock: Clock,
  cut: AbortBroadcast,
): Promise<T | undefined> {
  if (cut.reason) return Promise.reject(cut.reason)
  return new Promise((resolve, reject) => {
    const unlisten = cut.onAbort(reject)
    const cancel = clock.after(Math.max(0, ms), () => done(undefined))
    const done = (result: T | undefined): void => {
      cancel()
      unlisten()
      resolve(result)
    }
    // oxlint-disable-next-line promise/no-callback-in-promise
    void promise.then(done, reject)
  })
}
