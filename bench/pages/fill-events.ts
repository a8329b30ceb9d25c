import { reasons } from '../../src/receiving/rejections/reasons.ts'
import type { Database } from '../../src/storage/database.ts'
import { fill, padded } from '../harness/fill.ts'
import {
  big,
  bytesOf,
  characterOf,
  day,
  emittedTypes,
  oneOf,
  receivedTypes,
  sources,
  timeOf,
  type Shape,
} from './shape.ts'

const isEmitted = 'n % 4 = 3'
const hasFailed = 'n % 53 = 0'
const isRetried = 'n % 997 = 1'
/** Processed after a failure. */
const failedOnce = 'n % 101 = 5'
const isBlocked = 'n % 5003 = 2'
const hasOrderKey = `(n / 16) % ${receivedTypes.length} = 0`
/** Work of the future, so that the service does none of it while its pages are measured. */
const later = big(20 * day)

/** Events, of which three quarters are received, with their queue and failures. */
export async function fillEvents(database: Database, shape: Shape): Promise<void> {
  const { events, groups } = shape
  const at = timeOf(shape, events)
  const eventId = `'evt_' || ${padded(database, 9)}`
  const source = oneOf(sources, 'n / 4')
  const received = oneOf(receivedTypes, 'n / 16')
  const type = `case when ${isEmitted} then ${oneOf(emittedTypes, 'n / 4')} else ${received} end`
  // 300 bytes to 1 KB.
  const note = `substr('${'Leave the parcel at the back door. '.repeat(25)}', 1, 80 + (n % 7) * 115)`
  const body = `'{"id":"evt_' || ${padded(database, 9)} || '","type":"' || ${type} || '","data":{"order":"o_' || n
    || '","customer":"c_' || (n % 50000) || '","amount":' || (n % 9973) || ',"currency":"EUR","lines":[{"sku":"SKU-' || (n % 700)
    || '","count":2},{"sku":"SKU-' || (n % 691) || '","count":1}],"note":"' || ${note} || '"}}'`
  const headers = `'{"headers":{"content-type":"application/json","user-agent":"Sender/1.0","x-request-id":"' || n || '"}}'`
  const status = `case when ${hasFailed} then 'failed' when ${isBlocked} and ${hasOrderKey} then 'blocked'
    when ${isRetried} or n > ${events - 300} then 'pending' else 'processed' end`
  // Half of the failures are of ten groups.
  const group = padded(
    database,
    24,
    `case when (n / 53) % 2 = 0 then (n / 106) % 10 else (n / 53) % ${groups} end`,
  )
  await fill(database, events, [
    {
      into: 'events (id, event_id, direction, source, type, content_type, created_at, headers, payload)',
      values: `n + 1, ${eventId}, case when ${isEmitted} then 'emitted' else 'received' end,
        case when ${isEmitted} then null else ${source} end, ${type}, 'application/json', ${at},
        case when ${isEmitted} then null else ${headers} end, ${bytesOf(database, body)}`,
    },
    {
      into: `event_queue (event, source, event_id, type, status, attempts, due_at, failed_at, processed_at, order_key, failure_group)`,
      values: `n + 1, ${source}, ${eventId}, ${received}, ${status}, case when ${hasFailed} or ${isRetried} then 3 else 1 end,
        ${at} + ${later}, case when ${hasFailed} or ${isRetried} then ${at} + 60000 end,
        case when ${status} = 'processed' then ${at} + 900 end,
        case when ${hasOrderKey} then 'order.paid' || ${characterOf(database, 10)} || '=c_' || (n % 50000) end,
        case when ${hasFailed} or ${isRetried} or ${failedOnce} then ${group} end`,
      where: `not (${isEmitted})`,
    },
    ...[1, 2, 3].map((number) => ({
      into: 'handler_failures (event, number, at, duration_ms, error)',
      values: `n + 1, ${number}, ${at} + ${number * 20_000}, 12, 'TypeError: The stock of SKU-' || (n % 700) || ' is unknown${stack}'`,
      where: `not (${isEmitted}) and (${hasFailed} or ${isRetried})`,
    })),
    {
      into: 'idempotency_keys (event, event_id, digest, created_at, caused_by)',
      values: `n + 1, ${eventId}, ${bytesOf(database, padded(database, 32))}, ${at}, case when n % 8 = 3 then n - 1 end`,
      where: isEmitted,
    },
  ])
}

const stack = `
    at stockOf (file:///app/handlers/stock.ts:41:11)
    at async file:///app/handlers/orders.ts:12:3
    at async Worker.run (file:///app/node_modules/postern/src/receiving/worker/attempt.ts:88:5)`

const hour = 3_600_000
const quarter = 900_000
const handlers = receivedTypes

/** Groups of failures, refused webhooks, and the counts of sources, handlers and groups. */
export async function fillFailures(database: Database, shape: Shape): Promise<void> {
  const { groups, now } = shape
  const hours = 7 * 24
  const slot = (length: number, n: string): string => `${big(now - (now % length))} - ${big(length)} * (${n})`
  await fill(database, groups, [
    {
      into: 'failure_groups (id, handler, name, message, frame, first_at, last_at, count)',
      values: `${padded(database, 24)}, ${oneOf(handlers, 'n')}, 'TypeError', 'The stock of … is unknown (' || n || ')',
        'stockOf handlers/stock.ts', ${big(now - 28 * day)}, ${big(now)} - n * 60000, 1000 + n`,
    },
  ])
  await fill(database, groups * hours, [
    {
      into: 'receiving_activity (kind, name, slot, counter, count, last_at)',
      values: `'failure', ${padded(database, 24, `n / ${hours}`)}, ${slot(hour, `n % ${hours}`)}, 'failed', 1 + n % 9, ${big(now)}`,
    },
  ])
  for (const [kind, names, counters] of [
    ['source', sources, ['accepted', 'duplicate', 'signature-wrong', 'malformed']],
    ['handler', handlers, ['handled', 'milliseconds', 'failed']],
  ] as const)
    for (const name of names)
      for (const counter of counters)
        await fill(database, 97, [
          {
            into: 'receiving_activity (kind, name, slot, counter, count, last_at)',
            values: `'${kind}', '${name}', case when n = 96 then 0 else ${slot(quarter, 'n')} end, '${counter}', 100 + n, ${big(now)}`,
          },
        ])
  const names = Object.keys(reasons)
  await fill(database, sources.length * names.length * 10, [
    {
      into: 'rejected_webhooks (source, at, reason, detail, address, headers, size, body)',
      values: `${oneOf(sources, 'n')}, ${big(now)} - n * 60000, ${oneOf(names, `n / ${sources.length}`)}, 'The signature does not match.',
        '203.0.113.7', '{"content-type":"application/json"}', 600, null`,
    },
  ])
  await fill(database, 28 * sources.length * names.length, [
    {
      into: 'receiving_activity (kind, name, slot, counter, count, last_at)',
      values: `'rejected', ${oneOf(sources, 'n')}, ${slot(day, `n / ${sources.length * names.length}`)},
        ${oneOf(names, `n / ${sources.length}`)}, 5, ${big(now)}`,
    },
  ])
}
