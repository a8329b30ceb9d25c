import { sql } from 'kysely'
import { CountsWriter } from '../../src/listing/counts/writer.ts'
import { users } from '../../src/listing/resources/users.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { fill, padded } from '../harness/fill.ts'
import { scaled, type Scale } from '../measure/bench.ts'
import { seedArticles } from './operators.config.ts'

const rows = 1_000_000
/** Of a trial: what the requests go through. */
const fewestRows = 20_000

/** Rows of each table. */
export const rowsAt = (scale: Scale): number => Math.max(fewestRows, scaled(rows, scale))

export const categories = ['books', 'garden', 'kitchen', 'music', 'tools'] as const

/** Fills the tables behind the lists with as many rows each, the same on both engines, a second apart. */
export async function seed(url: string, count: number): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    const sqlite = database.engine === 'sqlite'
    // Lately: the service removes events that are old.
    const seconds = `(${Math.floor(Date.now() / 1000) - count} + n)`
    const ms = `${seconds} * cast(1000 as bigint)`
    const time = sqlite
      ? `strftime('%Y-%m-%dT%H:%M:%S', ${seconds}, 'unixepoch') || '.000000Z'`
      : `to_timestamp(${seconds})`
    const json = `'{"id":"evt_' || n || '","type":"order.paid"}'`
    const payload = sqlite ? `cast(${json} as blob)` : `convert_to(${json}, 'UTF8')`
    const number = padded(database, 7)
    const category = categories.map((name, index) => `when ${index} then '${name}'`).join(' ')
    await fill(database, count, [
      {
        into: 'users (id, email, name, provider, provider_id, role, blocked_at, created_at)',
        values: `'user-' || ${number}, 'user' || n || '@example.com', 'User ' || n, 'google', ${number}, 'user', null, ${ms}`,
      },
      {
        into: 'products (id, category, price, stock, name, created_at)',
        values: `'product-' || ${number}, case n % ${categories.length} ${category} end, ((n % 50000) * 7919 % 50000) / 100.0, n % 4,
          'Product ' || (cast(104729 as bigint) * n % ${count}), ${time}`,
      },
      {
        into: 'posts (id, title, body, created_at)',
        values: `'post-' || ${number}, 'Post ' || n, '${'Some sentences that somebody wrote. '.repeat(6)}', ${time}`,
      },
      {
        into: 'events (event_id, direction, source, type, content_type, payload, headers, created_at)',
        values: `'evt_' || n, 'received', 'provider', 'order.paid', 'application/json', ${payload}, '{}', ${ms}`,
      },
    ])
    await database.transaction(
      (tx) =>
        sql`
          insert into event_queue (event, source, event_id, type, status, due_at, processed_at)
          select id, source, event_id, type, 'processed', created_at, created_at from events
        `.execute(tx),
      { timeLimit: 600_000 },
    )
    await seedArticles(database, Math.min(count, 100_000))
    await new CountsWriter(database, users).rebuild()
    if (database.engine === 'postgres') await database.pool.query('vacuum analyze')
  } finally {
    await database.close()
  }
}
