import { NotSent } from '../../network/exchange.ts'
import type { Random, Timers } from '../../runtime/clock.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { InFlight } from '../../runtime/worker.ts'
import {
  type Attempt,
  type AttemptOutcome,
  type AttemptResult,
  evaluateAttempt,
  withheld,
  withoutPayload,
} from '../attempt/attempt.ts'
import { isFor, dataIn } from '../events/event.ts'
import type { DeliveryStore, DueDelivery, EventPayload } from '../store.ts'
import type { Health } from '../subscribers/health.ts'
import type { Completions, SideEffects } from './completions.ts'
import type { Endpoint } from './endpoints.ts'
import type { OperationalEvents } from './operational-events.ts'
import type { Prefetcher } from './prefetcher.ts'
import { classifyResponse, type ResponseClass } from './subscriber-pace.ts'
import type { QueuedDelivery, SubscriberQueue } from './subscriber-queue.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { begin, run, spans, withContext } from '../../telemetry/spans.ts'
import type { ModuleParts } from '../../http/service-module.ts'

export interface DeliveryAttemptsOptions extends Pick<ModuleParts, 'clock' | 'log'> {
  attempt: Attempt
  /** Counts outcomes for GET /subscribers/{id}/health. */
  health: Pick<Health, 'record'>
  operationalEvents: Pick<OperationalEvents, 'sideEffects'>
  metrics: DeliveryMetrics
  random: Random
}

interface DeliveryAttemptsParts extends DeliveryAttemptsOptions {
  store: Pick<DeliveryStore, 'leaseValid'>
  completions: Pick<Completions, 'add'>
  prefetcher: Pick<Prefetcher, 'payloads' | 'forget' | 'markDue'>
  timers: Timers
}

/** Ends the use of a place for an attempt. Only the first call has an effect. */
export type ReleasePlace = (response: ResponseClass) => void

/** Milliseconds between two polls of the dispatcher: scans that no notification asked for. */
export const pollInterval = 1_000

const dead: AttemptOutcome = { kind: 'dead' }

/** Makes attempts and records their outcomes. No transaction is open during an attempt. */
export class DeliveryAttempts {
  readonly #parts: DeliveryAttemptsParts
  readonly #inFlight = new InFlight()
  #abort = new AbortBroadcast()
  readonly #maySend = (): boolean => this.#parts.store.leaseValid()

  constructor(parts: DeliveryAttemptsParts) {
    this.#parts = parts
  }

  /** Starts an attempt, which calls `release` when it needs its place no longer. */
  start(queued: QueuedDelivery, queue: SubscriberQueue, endpoint: Endpoint, release: ReleasePlace): void {
    void this.#inFlight.add(this.#process(queued, queue, endpoint, release))
  }

  /** Aborts the attempts in flight, whose deliveries are attempted again. Later attempts are not affected. */
  abortCurrent(reason: Error): void {
    // Not `AbortBroadcast.abortCurrent`: an attempt that is still reading its payload does not listen yet, and must find the reason.
    this.#abort.abort(reason)
    this.#abort = new AbortBroadcast()
  }

  /** Aborts the attempts in flight, and all later ones. */
  abort(reason: Error): void {
    this.#abort.abort(reason)
  }

  drained(): Promise<void> {
    return this.#inFlight.drained()
  }

  /** Never rejects. */
  async #process(
    queued: QueuedDelivery,
    queue: SubscriberQueue,
    endpoint: Endpoint,
    release: ReleasePlace,
  ): Promise<void> {
    const { id } = queued.delivery
    let wasSent = true
    try {
      await this.#deliver(queued, queue, endpoint, release)
    } catch (error) {
      if (error instanceof NotSent) wasSent = false
      else
        this.#parts.log.error(
          { err: error, deliveryId: id },
          'an attempt failed because of an internal error',
        )
    }
    // Without an effect if the attempt has released its place.
    release('aborted')
    const { prefetcher } = this.#parts
    prefetcher.forget(id)
    if (endpoint.ordered || !wasSent) prefetcher.markDue(queue.id)
  }

  /**
   * Makes one attempt and records its outcome. An attempt without side effects releases its place before its record is committed.
   * One with side effects releases it afterwards: those records take longer, and slow new attempts to their own speed.
   */
  async #deliver(
    { delivery, payload }: QueuedDelivery,
    queue: SubscriberQueue,
    endpoint: Endpoint,
    release: ReleasePlace,
  ): Promise<void> {
    const { attempt, clock, operationalEvents, random } = this.#parts
    const abort = this.#abort
    let event: EventPayload | undefined
    let result: AttemptResult
    try {
      event = await this.#parts.prefetcher.payloads.one(delivery, payload)
      if (!event || !mayReceive(endpoint, event)) {
        release('aborted')
        const now = clock.now()
        const unsent = event ? withheld(now) : withoutPayload(now)
        return await this.#record(delivery, dead, unsent)
      }
      const { target, timeout, httpSignature, owner } = endpoint
      const owned = owner !== null
      const keys = endpoint.keysAt(clock.now())
      const maySend = this.#maySend
      const { number } = delivery
      const sent = target.special?.bare
        ? { ...event, payload: dataIn(event.payload) ?? event.payload }
        : event
      const request = { target, owned, event: sent, number, keys, httpSignature, timeout, maySend }
      result = await (spans.attempt.start.hasSubscribers
        ? this.#attemptTraced(request, delivery, abort)
        : attempt(request, abort))
    } catch (error) {
      // The delivery is still pending in the table, so it is attempted again.
      if (abort.reason) return
      throw error
    }
    const plannedAt = delivery.plannedAt ?? 0
    const plannedIn = plannedAt > result.at ? plannedAt - endOf(result) : undefined
    const outcome = evaluateAttempt(result, endpoint.schedule, delivery.begun, random, plannedIn)
    // Canceled by a transformation: it says nothing of the endpoint.
    const isCanceled = result.failure === 'canceled'
    if (!isCanceled) this.#count(endpoint, outcome, result)
    // Nearly all attempts succeed at an endpoint that was not failing, and change nothing.
    const isUsual = outcome.kind === 'delivered' && !outcome.disable && endpoint.failingSince === null
    const effects =
      isCanceled || isUsual
        ? undefined
        : operationalEvents.sideEffects({ delivery, endpoint, event, outcome, result })
    const recorded = this.#record(delivery, outcome, result, effects)
    const response = classifyResponse(result)
    if (!effects) release(response)
    await recorded
    release(response)
    this.#afterRecorded(delivery, endpoint, outcome, result)
  }

  /** Sends the context of the span in place of the event's. */
  async #attemptTraced(
    request: Parameters<Attempt>[0],
    delivery: DueDelivery,
    abort: AbortBroadcast,
  ): Promise<AttemptResult> {
    const { event, target } = request
    const work = begin('attempt', event.headers, {
      'messaging.message.id': event.event_id,
      'postern.type': event.type,
      'postern.subscriber': delivery.subscriberId,
      'postern.delivery': delivery.id,
      'postern.attempt': delivery.number,
      'server.address': new URL(target.origin).hostname,
    })
    return run(work, async () => {
      const carried = withContext(JSON.parse(event.headers ?? '{}') as object, work)
      const headers = Object.keys(carried).length === 0 ? null : JSON.stringify(carried)
      const result = await this.#parts.attempt({ ...request, event: { ...event, headers } }, abort)
      if (result.status !== null) work.attributes['http.response.status_code'] = result.status
      if (result.error !== null) work.error = new Error(result.error)
      return { ...result, traceparent: work.context?.traceparent }
    })
  }

  #count({ id }: Endpoint, { kind }: AttemptOutcome, { durationMs, traceparent }: AttemptResult): void {
    const { health, metrics } = this.#parts
    metrics.attempted(kind, durationMs, traceparent)
    health.record(id, kind === 'delivered', durationMs)
  }

  #record(
    delivery: DueDelivery,
    outcome: AttemptOutcome,
    attempt: AttemptResult,
    effects?: SideEffects,
  ): Promise<void> {
    const now = endOf(attempt)
    const completion =
      outcome.kind === 'retry'
        ? { delivery, status: 'pending' as const, dueAt: now + outcome.delay, finishedAt: null, attempt }
        : { delivery, status: outcome.kind, dueAt: now, finishedAt: now, attempt }
    return this.#parts.completions.add(completion, effects)
  }

  #afterRecorded(
    { id: deliveryId, begun: attempts }: DueDelivery,
    { id: subscriberId }: Endpoint,
    outcome: AttemptOutcome,
    { error, failure }: AttemptResult,
  ): void {
    // A later retry is found by a poll.
    if (outcome.kind === 'retry' && outcome.delay < pollInterval)
      this.#parts.timers.after(outcome.delay + 1, () => this.#parts.prefetcher.markDue(subscriberId))
    if (outcome.kind === 'dead')
      this.#parts.log.warn(
        { deliveryId, subscriberId, attempts, error, failure },
        'a delivery was dead-lettered',
      )
  }
}

/** Not the time of now: where the attempt does not tell how long it took, the delivery must not either. */
function endOf({ at, durationMs }: AttemptResult): number {
  return at + durationMs
}

/** False for deliveries that remain from a change of the subscriber's owner, which earlier versions allowed. */
function mayReceive({ owner }: Endpoint, { audience }: EventPayload): boolean {
  return owner === null || isFor(audience, owner, false)
}

type DeliveryMetrics = ReturnType<typeof deliveryMetrics>

export function deliveryMetrics(metrics: Metrics) {
  const attempts = metrics.counter(
    'postern_delivery_attempts_total',
    'Attempts of deliveries, by what followed: delivered, retry or dead (dead-lettered)',
    ['outcome'],
  )
  const observe = metrics.seconds(
    'postern_delivery_attempt_seconds',
    'Duration of attempts',
    'outcome',
    [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 60],
  )
  // A lookup by labels costs as much as the increment.
  const children = {
    delivered: attempts.labels('delivered'),
    retry: attempts.labels('retry'),
    dead: attempts.labels('dead'),
  }
  return {
    attempted(outcome: keyof typeof children, durationMs: number, traceparent?: string): void {
      children[outcome].inc()
      observe(outcome, durationMs, traceparent)
      metrics.durations.deliveries.observe(durationMs)
    },
  }
}
