import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { Clock } from '../../runtime/clock.ts'
import { redactedValue } from '../../telemetry/redaction.ts'
import type { DestinationContext, DestinationDeclaration } from '../config.ts'
import type { EventPayload } from '../store.ts'
import type { AttemptResult } from './attempt.ts'

/** A subscriber's use of a declared destination. */
export interface DestinationCall extends Omit<DestinationContext, 'signal'> {
  declared: DestinationDeclaration
  /** Number of calls that exceeded the timeout and are still running. */
  overdue: number
}

/** Maximum number of a subscriber's calls that run beyond their timeout. Each holds memory and connections. */
const mostOverdue = 100
/** Maximum characters stored of what `deliver` returns, and of an error. */
const [longestShown, longestError] = [4_096, 500]

interface Delivery {
  headers: Readonly<Record<string, string>>
  /** The number of the attempt. */
  number: number
  /** Milliseconds after which the attempt fails, even if the call ignores its signal. */
  timeout: number
  clock: Clock
}

/** The fields that differ from those of an attempt without a request. */
type Ended = Pick<AttemptResult, 'error' | 'failure' | 'durationMs' | 'response'> & Partial<AttemptResult>

/** Calls `deliver`. Rejects with the reason of `cut` if that aborts the call. Whatever the destination does is a result. */
export function deliverTo(
  call: DestinationCall,
  event: EventPayload,
  { headers, number, timeout, clock }: Delivery,
  cut: AbortBroadcast,
): Promise<Ended> {
  const began = clock.now()
  const { declared, overdue, settings, secrets, subscriber } = call
  const seconds = timeout / 1000
  if (overdue >= mostOverdue) {
    const error = `${overdue} earlier calls exceeded the timeout of ${seconds} s and are still running`
    return Promise.resolve({ ...timedOut, error, durationMs: 0 })
  }
  const passed = {
    id: event.event_id,
    type: event.type,
    timestamp: timestampIn(event.payload),
    // A copy, because other subscribers get the same bytes.
    payload: Buffer.from(event.payload),
    headers,
    attempt: number,
  }
  return new Promise((resolve, reject) => {
    const aborter = new AbortController()
    let isOpen = true
    const end = (then: () => void): void => {
      if (!isOpen) return void (call.overdue -= 1)
      isOpen = false
      cancel()
      unlisten()
      then()
    }
    const leave = (reason: Error, then: () => void): void => {
      end(then)
      call.overdue += 1
      aborter.abort(reason)
    }
    const settle = (ended: Omit<Ended, 'durationMs'>): void =>
      end(() => resolve({ ...ended, durationMs: Math.max(0, Math.round(clock.now() - began)) }))
    const unlisten = cut.onAbort((reason) => leave(reason, () => reject(reason)))
    const cancel = clock.after(timeout, () => {
      const error = `deliver did not end within ${seconds} s`
      leave(new Error(error), () => resolve({ ...timedOut, error, durationMs: timeout }))
    })
    const context = { signal: aborter.signal, settings, secrets, subscriber }
    void (async () => {
      try {
        const returned = await declared.deliver(passed, context)
        settle({ error: null, failure: null, response: 'answered', responseBody: shown(returned, secrets) })
      } catch (error) {
        settle(failureOf(error, secrets))
      }
    })()
  })
}

const timedOut = { failure: 'destination-timeout', response: 'no-response' } as const

function failureOf(thrown: unknown, secrets: DestinationContext['secrets']): Omit<Ended, 'durationMs'> {
  const { message, permanent, retryAfter } = (thrown ?? {}) as Record<string, unknown>
  const text = typeof message === 'string' && message !== '' ? message : 'deliver failed without a message'
  return {
    error: hide(text, secrets).replaceAll('\0', '').toWellFormed().slice(0, longestError),
    failure: 'destination-failed',
    response: permanent === true ? 'answered' : 'unavailable',
    ...(permanent === true && { directive: 'abort-message' }),
    ...(typeof retryAfter === 'number' && retryAfter > 0 && { retryAfter: retryAfter * 1000 }),
  }
}

/** Null if nothing was returned, or something that JSON cannot represent. */
function shown(returned: unknown, secrets: DestinationContext['secrets']): Buffer | null {
  try {
    const text = typeof returned === 'string' ? returned : JSON.stringify(returned)
    return text ? Buffer.from(hide(text, secrets).slice(0, longestShown)) : null
  } catch {
    return null
  }
}

/** Libraries put URLs with passwords into their messages. */
function hide(text: string, secrets: DestinationContext['secrets']): string {
  return Object.values(secrets).reduce(
    (rest, secret) =>
      rest.replaceAll(secret, redactedValue).replaceAll(JSON.stringify(secret).slice(1, -1), redactedValue),
    text,
  )
}

/** The payload begins with id, type and timestamp. Quotation marks within strings are escaped, so the first match is the timestamp. */
function timestampIn(payload: Uint8Array): string {
  const head = Buffer.from(payload.buffer, payload.byteOffset, Math.min(payload.length, 1_024)).toString()
  return /"timestamp":"([^"]+)"/.exec(head)?.[1] ?? ''
}
