import { Keyring, sealedColumns } from '../../src/crypto/keyring.ts'
import type { Database } from '../../src/storage/database.ts'
import { fill, padded } from '../harness/fill.ts'
import { production } from '../harness/postern.ts'
import { big, bytesOf, customers, day, idOf, largestOwner, oneOf, type Shape, timeOf } from './shape.ts'

/** Every fiftieth subscriber is down. */
const isDown = (subscriber: string): string => `(${subscriber}) % 50 = 0`
const hour = 3_600_000
const requestHeaders = `'{":url":"https://hooks.example.com/in","content-type":"application/json","webhook-id":"evt_1","webhook-timestamp":"1760000000"}'`
const responseHeaders = `'{"content-type":"text/plain","date":"Mon, 12 Oct 2026 08:00:00 GMT","server":"nginx"}'`

/** Subscribers with their secrets and hours, four deliveries of each emitted event, and their attempts. */
export async function fillDeliveries(database: Database, shape: Shape): Promise<void> {
  await fillSubscribers(database, shape)
  const { deliveries, events, subscribers } = shape
  const event = '(n / 4) * 4 + 3'
  const subscriber = `((n / 4) * 7 + (n % 4) * 501) % ${subscribers}`
  const status = `case when ${isDown(subscriber)} or n % 97 = 0 then 'dead' when n % 1009 = 1 then 'pending'
    else 'delivered' end`
  const attempts = `case when ${status} in ('dead', 'pending') then 3 else 1 end`
  const at = timeOf(shape, events, event)
  const attempt = (number: number, where = 'true') => ({
    into: 'attempts (delivery, number, at, duration_ms, status, error, failure, request_headers, response_headers, response_body)',
    values: `n + 1, ${number}, ${at} + ${number * 1000}, 20 + n % 900,
      case when ${status} = 'delivered' then 200 else ${oneOf(['503', '404', '', '500'], 'n / 100')} end,
      case when ${status} = 'delivered' then null else 'The subscriber answered with an error' end,
      case when ${status} = 'delivered' then null else 'status' end,
      ${requestHeaders}, ${responseHeaders}, ${bytesOf(database, `'ok'`)}`
      .replace(`when 2 then ''`, 'when 2 then null')
      .replaceAll(/then '(\d+)'/g, 'then $1'),
    where,
  })
  await fill(database, deliveries, [
    {
      into: 'deliveries (id, event, subscriber_id, owner, status, attempts, due_at, created_at, finished_at)',
      values: `n + 1, ${event} + 1, ${subscriberId(database, subscriber)}, ${ownerOf(subscriber, subscribers)}, ${status}, ${attempts}, ${at} + ${big(20 * day)}, ${at},
        case when ${status} <> 'pending' then ${at} + 900 end`,
    },
    attempt(1),
    attempt(2, `${status} in ('dead', 'pending')`),
    attempt(3, `${status} in ('dead', 'pending')`),
  ])
}

async function fillSubscribers(database: Database, shape: Shape): Promise<void> {
  const { subscribers, now } = shape
  await fill(database, customers + 1, [
    {
      into: 'owners (owner, created_at, updated_at)',
      values: `case when n = ${customers} then '${largestOwner}' else 'customer-' || n end, ${big(now - 28 * day)}, ${big(now - 28 * day)}`,
    },
  ])
  await fill(database, subscribers, [
    {
      into: `subscribers (id, owner, url, description, event_types, status, disabled_reason, failing_since, ordered, signing, created_at, updated_at)`,
      values: `${subscriberId(database, 'n')}, ${ownerOf('n', subscribers)},
        'https://hooks' || n || '.example.com/in', 'Endpoint ' || n, '["*"]', case when n % 200 = 0 then 'disabled' when n % 70 = 1 then 'paused' else 'active' end,
        case when n % 200 = 0 then 'failing' end, case when ${isDown('n')} then ${big(now - 3 * day)} end, 0, 'v1', ${big(now - 28 * day)}, ${big(now - 28 * day)}`,
    },
  ])
  const keyring = new Keyring([production.POSTERN_SECRET])
  for (let first = 0; first < subscribers; first += 500) {
    const rows = Array.from({ length: Math.min(500, subscribers - first) }, (_, index) => {
      const id = idOf(1_000_000 + first + index)
      const secret = keyring.seal(Buffer.alloc(24, 7), sealedColumns.subscriberSecret.context({ id }))
      const subscriber_id = idOf(first + index)
      return {
        id,
        subscriber_id,
        scheme: 'v1' as const,
        secret,
        created_at: now - 28 * day,
        expires_at: null,
      }
    })
    await database.transaction((tx) => tx.insertInto('subscriber_secrets').values(rows).execute())
  }
  const begin = now - (now % hour)
  const hours = (count: number, each: number) =>
    fill(database, count * each, [
      {
        into: 'subscriber_hours (subscriber_id, hour, duration_class, delivered, failed)',
        values: `${subscriberId(database, `n / ${each}`)}, ${big(begin)} - ${big(hour)} * ((n % ${each}) / 3), ${oneOf(['50', '100', '500'], 'n').replaceAll(`'`, '')}, 20, 1`,
        where: `n / ${each} >= ${each === 3 * 720 ? 0 : 50}`,
      },
    ])
  await hours(50, 3 * 720)
  await hours(subscribers, 3 * 30)
}

/** The expression of the owner of a subscriber by its number. */
function ownerOf(number: string, subscribers: number): string {
  const half = subscribers / 2
  return `case when (${number}) < ${half} then '${largestOwner}'
    when (${number}) < ${half + 3 * customers} then 'customer-' || ((${number}) % ${customers}) end`
}

/** The expression of the id of a subscriber by its number, as `idOf`. */
function subscriberId(database: Database, number: string): string {
  return `'${idOf(0).slice(0, -12)}' || ${padded(database, 12, number)}`
}
