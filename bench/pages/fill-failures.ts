import { reasons } from '../../src/receiving/rejections/reasons.ts'
import type { Database } from '../../src/storage/database.ts'
import { fill, padded } from '../harness/fill.ts'
import { big, day, oneOf, receivedTypes, sources, type Shape } from './shape.ts'

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
