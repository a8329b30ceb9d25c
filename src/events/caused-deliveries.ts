import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import type { Queryable } from '../storage/database.ts'

/** Deliveries that one response shows, and the newest attempts of each. */
const mostDeliveries = 100
const mostAttempts = 10

/** The first deliveries of some events, in their order, each with its newest attempts. */
export async function describeDeliveries(reader: Queryable, events: readonly number[]) {
  if (events.length === 0) return []
  const deliveries = await reader
    .selectFrom('deliveries as d')
    .innerJoin('subscribers as s', 's.id', 'd.subscriber_id')
    .select(['d.id', 'd.event', 'd.subscriber_id', 'd.status', 'd.attempts', 'd.due_at'])
    .select(['d.created_at', 'd.finished_at', 's.url', 's.description'])
    .where('d.event', 'in', events)
    .orderBy('d.id')
    .limit(mostDeliveries)
    .execute()
  const attempts = await readAttempts(
    reader,
    deliveries.map(({ id }) => id),
  )
  return deliveries.map((delivery) => {
    const made = attempts.get(delivery.id) ?? []
    const last = made.find(({ number }) => number === delivery.attempts)
    return {
      id: delivery.id,
      event: delivery.event,
      subscriberId: delivery.subscriber_id,
      // The whole address may contain a credential.
      subscriberHost: new URL(delivery.url).host,
      subscriberDescription: delivery.description,
      status: delivery.status,
      attempts: delivery.attempts,
      lastStatus: last?.status ?? null,
      lastError: last?.error ?? null,
      nextAttemptAt: delivery.status === 'pending' ? isoTime(delivery.due_at) : null,
      createdAt: isoTime(delivery.created_at),
      finishedAt: isoTimeOrNull(delivery.finished_at),
      attemptLog: made,
    }
  })
}

interface AttemptView {
  number: number
  at: string
  durationMs: number
  status: number | null
  error: string | null
  failure: string | null
}

async function readAttempts(reader: Queryable, deliveries: readonly number[]) {
  if (deliveries.length === 0) return new Map<number, AttemptView[]>()
  const rows = await reader
    .selectFrom('attempts as a')
    .innerJoin('deliveries as d', 'd.id', 'a.delivery')
    .select(['a.delivery', 'a.number', 'a.at', 'a.duration_ms', 'a.status', 'a.error', 'a.failure'])
    .where('a.delivery', 'in', deliveries)
    .where((eb) => eb('a.number', '>', eb('d.attempts', '-', mostAttempts)))
    .orderBy('a.delivery')
    .orderBy('a.number')
    .execute()
  const logs = new Map<number, AttemptView[]>()
  for (const { delivery, at, duration_ms: durationMs, ...attempt } of rows) {
    const log = logs.get(delivery) ?? []
    log.push({ ...attempt, at: isoTime(at), durationMs })
    logs.set(delivery, log)
  }
  return logs
}
