import { type Engine, startTestService, type TestService, type TestServiceOptions } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import type { Row } from '../../src/storage/tables.ts'
import { eventually } from '../receiving/harness.ts'

/** A service that may deliver to loopback, with a retry schedule that a test can wait for. */
export function startEmitting(engine: Engine, options: TestServiceOptions = {}): Promise<TestService> {
  return startTestService(engine, {
    ...options,
    env: { ALLOW_PRIVATE_NETWORK: 'true', EMIT_RETRY_SCHEDULE: '0,0.05', ...options.env },
  })
}

export interface SubscriberAnswer {
  id: string
  secret: string
  publicKey?: string
  [field: string]: unknown
}

export async function subscribe(
  service: TestService,
  settings: Record<string, unknown>,
): Promise<SubscriberAnswer> {
  return expectJson(service, 201, '/subscribers', { method: 'POST', json: settings })
}

/** Changes settings of a subscriber. */
export const change = <Answer = SubscriberAnswer>(
  service: TestService,
  id: string,
  json: unknown,
  status = 200,
): Promise<Answer> => expectJson<Answer>(service, status, `/subscribers/${id}`, { method: 'PATCH', json })

export async function emit(
  service: TestService,
  event: Record<string, unknown>,
): Promise<{ id: number; eventId: string; type: string }> {
  return expectJson(service, 202, '/events', { method: 'POST', json: event })
}

export type DeliveryAnswer = AnswerTo<'GET /deliveries/{id}'>

export async function deliveries(
  service: TestService,
  subscriberId: string,
  query = '',
): Promise<DeliveryAnswer[]> {
  const path = `/subscribers/${subscriberId}/deliveries${query}`
  return (await expectJson<{ data: DeliveryAnswer[] }>(service, 200, path)).data
}

/** Waits until so many deliveries of the subscriber have the status; at most a hundred. */
export async function untilStatus(
  service: TestService,
  subscriberId: string,
  status: string,
  count: number,
): Promise<void> {
  await until(
    async () => (await deliveries(service, subscriberId, `?status=${status}&limit=100`)).length === count,
    `${count} are ${status}`,
  )
}

/** The answer to a line of events. */
export interface LineAnswer {
  line: number
  status: number
  id?: number
  eventId?: string
  deliverAt?: string
  code?: string
  detail?: string
  pointer?: string
}

/** Emits lines of NDJSON, and returns what is answered to each. */
export async function emitLines(
  service: TestService,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<LineAnswer[]> {
  const headers = { 'content-type': 'application/x-ndjson' }
  const response = await service.admin('/events', { method: 'POST', headers, body })
  const text = await response.text()
  if (response.status !== 200 || !response.headers.get('content-type')?.startsWith('application/x-ndjson'))
    throw new Error(`lines of events were answered with ${response.status}: ${text}`)
  return readLines(text)
}

export const readLines = (text: string): LineAnswer[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LineAnswer)

export async function delivery(service: TestService, id: number): Promise<DeliveryAnswer> {
  return expectJson(service, 200, `/deliveries/${id}`)
}

/** The subscriber's newest delivery with its attempts, once its status is `status`. */
export async function settled(
  service: TestService,
  subscriberId: string,
  status: string,
): Promise<DeliveryAnswer> {
  const newest = await until(async () => {
    const [first] = await deliveries(service, subscriberId)
    return first?.status === status ? first : undefined
  }, `the newest delivery is ${status}`)
  return delivery(service, newest.id)
}

/** Asks again and again until the answer is there; fails after `limit` milliseconds in which this process ran. */
export function until<T>(
  ask: () => Promise<T | undefined | false>,
  what: string,
  limit?: number,
): Promise<NonNullable<T>> {
  return eventually(ask, what, limit) as Promise<NonNullable<T>>
}

export async function expectJson<Json = unknown>(
  service: Pick<TestService, 'admin'>,
  status: number,
  path: string,
  init: RequestInit & { json?: unknown } = {},
): Promise<Json> {
  const response = await service.admin(path, init)
  const text = await response.text()
  if (response.status !== status)
    throw new Error(
      `${init.method ?? 'GET'} ${path} answered ${response.status} instead of ${status}: ${text}`,
    )
  return (text === '' ? undefined : JSON.parse(text)) as Json
}

/** The rows of a list's first page. */
export const dataOf = async <Item>(service: Pick<TestService, 'admin'>, path: string): Promise<Item[]> =>
  (await expectJson<{ data: Item[] }>(service, 200, path)).data

/** Removes all subscribers: events of later tests go to their own. */
export async function removeSubscribers(service: TestService): Promise<void> {
  for (const { id } of await dataOf<{ id: string }>(service, '/subscribers?limit=100'))
    await expectJson(service, 204, `/subscribers/${id}`, { method: 'DELETE' })
}

/** A row of a subscriber with default settings, for tests of the store. */
export function subscriberRow(id: string) {
  return {
    id,
    url: 'http://127.0.0.1:9/',
    description: null,
    event_types: '["*"]',
    status: 'active' as const,
    disabled_reason: null,
    retry_schedule: null,
    timeout_ms: null,
    rate_limit: null,
    concurrency: null,
    headers: null,
    ordered: 0,
    signing: 'v1' as const,
    http_signature: 0,
    operational: 0,
    channels: null,
    uid: null,
    metadata: null,
    created_at: 1,
    updated_at: 1,
  }
}

/** A row of `deliveries`, waiting if nothing else is said. */
export const deliveryRow = (subscriber_id: string, more: Partial<Omit<Row<'deliveries'>, 'id'>> = {}) => ({
  event: 1,
  subscriber_id,
  status: 'pending' as const,
  attempts: 0,
  attempts_before: 0,
  due_at: 1,
  created_at: 1,
  finished_at: null,
  ...more,
})
