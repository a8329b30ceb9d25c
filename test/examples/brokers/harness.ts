import { Webhook } from 'standardwebhooks'
import assert from 'node:assert/strict'
import type { DestinationDeclaration } from '../../../src/index.ts'
import {
  deliveries,
  emit,
  expectJson,
  settled,
  startEmitting,
  until,
  type DeliveryAnswer,
} from '../../emitting/harness.ts'
import { engines } from '../../harness/engines.ts'
import type { TestService } from '../../harness/service.ts'
import type { Broker } from './server.ts'

/** A message of a broker. */
export interface Message {
  readonly body: Buffer
  /** Attributes or headers. */
  readonly headers: Record<string, string>
}

/** A service with a destination, which retries often enough to outlast a broker's restart. */
export const startDelivering = (name: string, destination: DestinationDeclaration): Promise<TestService> =>
  startEmitting(engines[0]!, {
    env: { EMIT_RETRY_SCHEDULE: `0${',1'.repeat(49)}` },
    emitting: { destinations: { [name]: destination } },
  })

/** What deliver returned of the newest delivery of an endpoint. */
export async function outcome(service: TestService, id: string): Promise<Record<string, unknown>> {
  const { attempts } = await settled(service, id, 'delivered')
  const last = attempts.toSorted((one, other) => one.number - other.number).at(-1)
  return JSON.parse(last!.responseBody!) as Record<string, unknown>
}

/** Checks that a message has ID, type and a signature that an official library verifies. */
export function checkMessage(message: Message, secret: string, id: string, type: string): void {
  assert.equal(message.headers['webhook-id'], id)
  assert.equal(message.headers['event-type'], type)
  const event = new Webhook(secret).verify(message.body, message.headers) as { id: string; type: string }
  assert.deepEqual([event.id, event.type], [id, type])
}

/** While the broker is down, attempts of an event fail; when it is back, and `prepare` has run, the event is delivered. */
export async function survivesOutage(
  service: TestService,
  broker: Broker,
  subscriber: string,
  prepare: () => Promise<void>,
): Promise<DeliveryAnswer> {
  await broker.stop()
  await emit(service, { type: 'order.paid', id: 'during-outage', data: { order: 7 } })
  await until(async () => {
    const [newest] = await deliveries(service, subscriber)
    return newest?.eventId === 'during-outage' && newest.attemptCount >= 2 && newest
  }, 'two failed attempts')
  await broker.start()
  await prepare()
  const delivered = await settled(service, subscriber, 'delivered')
  assert.equal(delivered.eventId, 'during-outage')
  assert.ok(delivered.attempts.some(({ failure }) => failure === 'destination-failed'))
  return delivered
}

/** The detail of the 400 for settings. */
export async function rejection(service: TestService, destination: string, settings: object) {
  const json = { destination, settings }
  return JSON.stringify(await expectJson(service, 400, '/subscribers', { method: 'POST', json }))
}

/** Emits an event whose delivery must fail for good at its first attempt, and returns the error. */
export async function failsAtOnce(service: TestService, id: string, event: { type: string; data: unknown }) {
  await emit(service, event)
  const { attempts } = await settled(service, id, 'dead')
  assert.equal(attempts.length, 1)
  return attempts[0]!.error
}

/** The newest delivery of an endpoint, once an attempt failed with a message. */
export const failedWith = (service: TestService, id: string, message: RegExp): Promise<DeliveryAnswer> =>
  until(async () => {
    const [newest] = await deliveries(service, id)
    return newest && message.test(newest.lastError ?? '') && newest
  }, `an attempt that failed with ${message}`)
