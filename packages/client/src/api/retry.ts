import { type PosternError, RateLimitedError, UnavailableError } from '../errors.ts'
import { longestTimer } from '../http.ts'

export interface RetryOptions {
  /** Attempts after the first one. */
  retries: number
  /** Seconds that one Retry-After may ask to wait; a longer one ends the attempts. */
  longestWait: number
  signal?: AbortSignal | undefined
}

/** Milliseconds before the first retry of a failure without Retry-After; doubled for each further one. */
const firstPause = 200

/** Calls again what failed for a reason that passes: no answer, 429, 5xx. Only for what may be done twice. */
export async function withRetries<T>(
  call: () => Promise<T>,
  { retries, longestWait, signal }: RetryOptions,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call()
    } catch (error) {
      if (attempt >= retries || !passes(error)) throw error
      const asked = error.retryAfter
      if (asked !== undefined && asked > longestWait) throw error
      // With jitter, so that clients that failed together do not return together.
      const pause = firstPause * 2 ** attempt * (0.5 + Math.random())
      await sleep(asked === undefined ? pause : asked * 1000, signal)
    }
  }
}

function passes(error: unknown): error is PosternError {
  if (error instanceof RateLimitedError) return true
  return error instanceof UnavailableError && error.status !== 501 && error.code !== 'unexpected-answer'
}

/** @param milliseconds bounded by the caller. @throws the reason of the signal when it is aborted meanwhile. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    if (signal?.aborted === true) return fail(signal.reason as Error)
    const abort = (): void => {
      clearTimeout(timer)
      fail(signal?.reason as Error)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        done()
      },
      Math.min(milliseconds, longestTimer),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
}
