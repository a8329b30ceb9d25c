import type { IncomingHttpHeaders } from 'node:http'
import type { Insertable } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { DelayedWrites } from '../../runtime/delayed-writes.ts'
import type { RawCall } from '../../http/raw/call.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { RejectedWebhooksTable } from '../../storage/tables.ts'
import type { Log } from '../../telemetry/log.ts'
import { redactBody, redactHeaders } from './redact.ts'
import type { Reason } from './reasons.ts'
import { laterOf } from '../activity/activity.ts'

/** Stored refusals of one source and reason at most, so that a flood of one kind does not push out the others. */
export const longestLog = 10
/** Of those that one write may bring. The rest is counted and not stored. */
const mostPerWrite = 5
const mostWaiting = 50
/** Milliseconds between two writes. */
const interval = 1_000
/** Bytes of a body, and of the headers as JSON, that are stored. */
const storedBodyLimit = 4 * 1024

/** Records a refused request of one source. */
export type NoteRejected = (
  reason: Reason,
  detail: string,
  call: Pick<RawCall, 'request' | 'address'>,
  body?: Uint8Array,
) => void

interface Waiting {
  readonly source: string
  readonly reason: Reason
  readonly detail: string
  readonly at: number
  readonly address: string
  readonly headers: IncomingHttpHeaders
  readonly signatureHeader: string | undefined
  readonly size: number | null
  readonly body: Uint8Array | null
}

export interface RejectedLogParts {
  database: Database
  clock: Clock
  log: Log
  /** Milliseconds after which the counts of a day are deleted. */
  period: number
}

/**
 * Counts refused requests and stores samples of the latest, for troubleshooting. Anyone can cause refusals, so their cost is
 * bounded: a few samples in memory, one small write per second, and a few rows for each source and reason.
 */
export class RejectedLog {
  readonly #parts: RejectedLogParts
  #waiting: Waiting[] = []
  readonly #refused = new RejectedCounts()
  /** Waiting samples by source and reason. */
  #counts = new Map<string, number>()
  readonly #writes: DelayedWrites

  constructor(parts: RejectedLogParts) {
    this.#parts = parts
    this.#writes = new DelayedWrites(parts.clock, interval, {
      write: () => this.#write(),
      pending: () => this.#refused.size > 0,
    })
  }

  of(source: string, signatureHeader?: string): NoteRejected {
    return (reason, detail, call, body) => {
      const at = this.#parts.clock.now()
      if (this.#writes.closed) return
      this.#refused.add({ source, reason, count: 1, lastAt: at })
      this.#writes.schedule()
      const key = `${source} ${reason}`
      const count = this.#counts.get(key) ?? 0
      if (count >= mostPerWrite || this.#waiting.length >= mostWaiting) return
      this.#counts.set(key, count + 1)
      const { headers } = call.request
      const told = Number(headers['content-length'] ?? Number.NaN)
      this.#waiting.push({
        source,
        reason,
        detail,
        at,
        address: call.address,
        headers,
        signatureHeader,
        size: body?.byteLength ?? (told <= 2 ** 31 - 1 ? told : null),
        // A copy of its own: the rest of the body is let go.
        body: body ? Buffer.from(body.subarray(0, storedBodyLimit)) : null,
      })
    }
  }

  /** Writes what waits. */
  close(): Promise<void> {
    return this.#writes.close()
  }

  async #write(): Promise<void> {
    const counts = this.#refused.drain()
    const waiting = this.#waiting
    this.#waiting = []
    this.#counts = new Map()
    const { database, log, clock, period } = this.#parts
    try {
      await database.transaction((tx) => insertRejected(tx, waiting, counts, clock.now() - period), {
        priority: 'work',
      })
    } catch (error) {
      // The samples are lost. The counts are written with the next ones.
      for (const count of counts) this.#refused.add(count)
      log.debug({ err: error }, 'samples of rejected webhooks could not be stored')
    }
  }
}

async function insertRejected(
  tx: Tx,
  waiting: readonly Waiting[],
  counts: readonly RejectedCount[],
  until: number,
): Promise<void> {
  await writeCounts(tx, counts, until)
  if (waiting.length === 0) return
  await tx.insertInto('rejected_webhooks').values(waiting.map(rowOf)).execute()
  const kinds = new Map(waiting.map(({ source, reason }) => [`${source} ${reason}`, { source, reason }]))
  for (const { source, reason } of kinds.values()) {
    await tx
      .deleteFrom('rejected_webhooks')
      .where('source', '=', source)
      .where('reason', '=', reason)
      .where('id', '<=', (eb) =>
        eb
          .selectFrom('rejected_webhooks as newer')
          .select('newer.id')
          .where('newer.source', '=', source)
          .where('newer.reason', '=', reason)
          .orderBy('newer.id', 'desc')
          .limit(1)
          .offset(longestLog),
      )
      .execute()
  }
}

function rowOf(one: Waiting): Insertable<RejectedWebhooksTable> {
  const { source, reason, detail, at, address, headers, signatureHeader, size, body } = one
  return {
    source,
    reason,
    detail,
    at,
    address,
    headers: redactHeaders(headers, signatureHeader),
    size,
    body: body && redactBody(body, storedBodyLimit),
  }
}

const dayLength = 86_400_000

/** The refusals of one source for one reason. */
interface RejectedCount {
  readonly source: string
  readonly reason: Reason
  count: number
  /** Milliseconds since 1970. */
  lastAt: number
}

/** Counts in memory until they are written. It has at most one entry for each source and reason. */
class RejectedCounts {
  #counts = new Map<string, RejectedCount>()

  get size(): number {
    return this.#counts.size
  }

  add({ source, reason, count, lastAt }: Readonly<RejectedCount>): void {
    const key = `${source} ${reason}`
    const known = this.#counts.get(key)
    if (!known) this.#counts.set(key, { source, reason, count, lastAt })
    else {
      known.count += count
      known.lastAt = Math.max(known.lastAt, lastAt)
    }
  }

  /** Returns and resets the counts. Their order is the same in all processes, which lock rows in it. */
  drain(): RejectedCount[] {
    const drained = [...this.#counts].toSorted(([one], [other]) => (one < other ? -1 : 1))
    this.#counts = new Map()
    return drained.map(([, count]) => count)
  }
}

const dayOf = (time: number): number => time - (time % dayLength)

/** Adds to the counts of the days, and deletes days that ended before `until`. */
async function writeCounts(tx: Tx, counts: readonly RejectedCount[], until: number): Promise<void> {
  for (const { source, reason, count, lastAt } of counts) {
    await tx
      .insertInto('rejected_counts')
      .values({ day: dayOf(lastAt), source, reason, count, last_at: lastAt })
      .onConflict((conflict) =>
        conflict.columns(['day', 'source', 'reason']).doUpdateSet((eb) => ({
          count: eb('rejected_counts.count', '+', eb.ref('excluded.count')),
          last_at: laterOf('rejected_counts.last_at'),
        })),
      )
      .execute()
  }
  if (until > -Infinity) await tx.deleteFrom('rejected_counts').where('day', '<', dayOf(until)).execute()
}
