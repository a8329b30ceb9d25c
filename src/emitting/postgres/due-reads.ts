import {
  inOrder,
  isRetry,
  dueDelivery,
  type DeliveryRow,
  type DeliveryStore,
  type EventPayload,
  type ReadRequest,
} from '../store.ts'
import { type Run } from './run.ts'

// The same text for any number of events: a process that owns queues runs it for each notification of other processes.
const payloads = `
  select events.id, events.event_id, events.type, events.payload, events.nonce, idempotency_keys.audience
  from events left join idempotency_keys on idempotency_keys.event = events.id
  where events.id = any($1) and ($2::bigint is null or octet_length(payload) <= $2)`

export const columns =
  'd.id, d.event, d.subscriber_id, d.attempts, d.attempts_before, d.due_at, d.nonce, d.planned_at'

const readDue = `
  select due.* from unnest($2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[])
    as want (subscriber, retries, due_at, id, count)
  cross join lateral (
    select ${columns} from deliveries d
    where d.subscriber_id = want.subscriber and d.status = 'pending' and ${isRetry} = want.retries
      and (d.due_at, d.id) > (want.due_at, want.id) and d.due_at <= $1
    order by d.due_at, d.id limit want.count
  ) due`

const readFirst = `
  select due.* from unnest($2::text[]) as want (subscriber)
  cross join lateral (
    select ${columns} from deliveries d where d.subscriber_id = want.subscriber and d.status = 'pending'
    order by ${inOrder.postgres} limit 1
  ) due where due.due_at <= $1`

export function dueReadsIn(seek: Run): Pick<DeliveryStore, 'readDue'> {
  type ByPosition = Exclude<ReadRequest, { ordered: true }>

  async function readByPosition(requests: readonly ByPosition[], now: number): Promise<DeliveryRow[]> {
    if (requests.length === 0) return []
    return seek<DeliveryRow>('read_due', readDue, [
      now,
      requests.map(({ subscriberId }) => subscriberId),
      requests.map(({ retries }) => (retries ? 1 : 0)),
      requests.map(({ behind }) => behind.dueAt),
      requests.map(({ behind }) => behind.id),
      requests.map(({ count }) => count),
    ])
  }

  async function readFirstOf(requests: readonly ReadRequest[], now: number): Promise<DeliveryRow[]> {
    if (requests.length === 0) return []
    const ids = requests.map(({ subscriberId }) => subscriberId)
    return seek<DeliveryRow>('read_first', readFirst, [now, ids])
  }

  return {
    async readDue(requests, now) {
      const rows = await Promise.all([
        readByPosition(
          requests.filter((request) => !request.ordered),
          now,
        ),
        readFirstOf(
          requests.filter((request) => request.ordered),
          now,
        ),
      ])
      return rows.flat().map(dueDelivery)
    },
  }
}

export function readPayloadsBy(run: Run): DeliveryStore['readPayloads'] {
  return async (events, longest) => {
    if (events.length === 0) return new Map()
    const rows = await run<EventPayload & { id: number }>('payloads', payloads, [events, longest ?? null])
    return new Map(rows.map(({ id, ...rest }) => [id, rest]))
  }
}
