import { setTimeout as wait } from 'node:timers/promises'
import { receivedStatus } from '../events/store.ts'
import { parseExactly } from '../json/exact.ts'
import type { Queryable } from '../storage/database.ts'

/** The result of a webhook. */
export interface TestResult {
  /** The status of the response to the sender. */
  readonly httpStatus: number
  /** `refused` if the webhook was not accepted; `unhandled` if no handler takes its type, also for a source with `forwardTo`. */
  readonly status: 'processed' | 'unhandled' | 'failed' | 'refused'
  /** The error that a handler threw, with its stack. */
  readonly error: string | undefined
  /** The events that the handlers emitted; none if they failed. */
  readonly emitted: readonly {
    id: string
    type: string
    /** As JSON.parse returns it: numbers beyond 2^53 are rounded. */
    data: unknown
    /** The data as JSON, with every digit that subscribers get. */
    json: string
  }[]
}

/** Waits for the outcome of the source's newest event after number `before`. A duplicate has no such event. */
export async function outcomeOf(
  reader: Queryable,
  source: string,
  before: number,
): Promise<Omit<TestResult, 'httpStatus'>> {
  for (;;) {
    const row = await reader
      .selectFrom('event_queue')
      .leftJoin('handler_failures as failure', 'failure.event', 'event_queue.event')
      .select(['event_queue.event', 'status', 'attempts', 'failure.error'])
      .where('source', '=', source)
      .where('event_queue.event', '>', before)
      .orderBy('event_queue.event', 'desc')
      .executeTakeFirst()
    if (!row) return { status: 'processed', error: undefined, emitted: [] }
    const { event, error } = row
    const status = receivedStatus(row)
    if (status === 'processed' || status === 'unhandled' || status === 'failed')
      return { status, error: error ?? undefined, emitted: await emittedBy(reader, event) }
    await wait(2)
  }
}

async function emittedBy(reader: Queryable, event: number): Promise<TestResult['emitted']> {
  const rows = await reader
    .selectFrom('events as e')
    .innerJoin('idempotency_keys as k', 'k.event', 'e.id')
    .select(['e.event_id as id', 'e.type', 'e.payload'])
    .where('k.caused_by', '=', event)
    .orderBy('e.id')
    .execute()
  return rows.map(({ id, type, payload }) => {
    const { data } = parseExactly(Buffer.from(payload).toString('utf8')) as { data: unknown }
    const json = JSON.stringify(data)
    return { id, type, data: JSON.parse(json) as unknown, json }
  })
}
