import type { Attempt, AttemptResult } from '../../../src/emitting/attempt/attempt.ts'
import { NotSent } from '../../../src/network/exchange.ts'
import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { World } from './world.ts'

/** How a subscriber behaves. */
export type Manner = 'fast' | 'late' | 'flapping' | 'hanging' | 'lying' | 'refusing' | 'broken'

export const manners: readonly Manner[] = [
  'fast',
  'late',
  'flapping',
  'hanging',
  'lying',
  'refusing',
  'broken',
]

/** A request as it came to a subscriber. */
export interface Call {
  readonly subscriberId: string
  readonly event: number
  readonly at: number
  readonly process: VirtualProcess
  /** When the process that sent it saw its end. */
  endedAt: number | undefined
  succeeded: boolean
  /** The process that sent it was taken for dead while it was under way. */
  overtaken: boolean
}

/** The other side of all requests. */
export class Receivers {
  readonly calls: Call[] = []
  readonly manners = new Map<string, Manner>()
  /** Told of each request when it comes. */
  onCall: (call: Call) => void = () => undefined
  /** When all is well again, everybody answers in time. */
  calm = false

  attemptOf(world: World, process: VirtualProcess): Attempt {
    const { time } = world
    return (request, cut) =>
      new Promise((resolve, reject) => {
        const { reason: before } = cut
        if (before) return reject(before)
        if (!request.maySend()) return reject(new NotSent())
        const subscriberId = request.target.origin
        const at = process.now()
        const call: Call = {
          subscriberId,
          event: Number(request.event.event_id.slice(1)),
          at: time.now,
          process,
          endedAt: undefined,
          succeeded: false,
          overtaken: false,
        }
        this.calls.push(call)
        this.onCall(call)
        const { status, after } = this.#answer(world, subscriberId, request.timeout)
        let over = false
        const end = (then: () => void): void => {
          if (over) return
          over = true
          call.endedAt = time.now
          unlisten()
          then()
        }
        const unlisten = cut.onAbort((reason) => end(() => reject(reason)))
        process.after(after, () =>
          end(() => {
            call.succeeded = status === 200
            world.trace(process.name, `${subscriberId} answers ${call.event} with ${status}`)
            resolve(resultOf(status, at, process.now()))
          }),
        )
      })
  }

  #answer(
    { chance, time }: World,
    subscriberId: string,
    timeout: number,
  ): { status: number | null; after: number } {
    const quick = 1 + 40 * chance.next()
    const manner = this.manners.get(subscriberId)!
    if (this.calm) return { status: 200, after: quick }
    switch (manner) {
      case 'fast':
        return { status: 200, after: quick }
      case 'late': {
        const after = timeout * 1.2 * chance.next()
        return after < timeout ? { status: 200, after } : { status: null, after: timeout }
      }
      case 'flapping':
        return { status: Math.floor(time.now / 7_000) % 2 === 0 ? 200 : 503, after: quick }
      case 'hanging':
        return { status: null, after: timeout }
      case 'lying':
        return { status: chance.is(0.5) ? 200 : 500, after: quick }
      case 'refusing':
        return { status: 422, after: quick }
      default:
        return chance.is(0.5) ? { status: 503, after: quick } : { status: null, after: quick }
    }
  }
}

function resultOf(status: number | null, at: number, now: number): AttemptResult {
  return {
    at,
    durationMs: now - at,
    status,
    error: status === 200 ? null : 'failed',
    failure: null,
    phases: null,
    requestHeaders: '{}',
    responseHeaders: null,
    responseBody: null,
  }
}
