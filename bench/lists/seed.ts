import { sql } from 'kysely'
import { newId } from '../../src/crypto/ids.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'

const rows = 20_000
const chunk = 500
/** Lately: the service removes events that are old. */
const began = Date.now() - rows * 1_000

export const categories = ['books', 'garden', 'kitchen', 'music', 'tools'] as const

/** Fills the tables behind the lists, the same rows on both engines. */
export async function seed(url: string): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    for (let first = 0; first < rows; first += chunk) await insertChunk(database, first)
    if (database.engine === 'postgres') await database.pool.query('vacuum analyze')
  } finally {
    await database.close()
  }
}

function insertChunk(database: Database, first: number): Promise<void> {
  const numbers = Array.from({ length: chunk }, (_, index) => first + index)
  return database.transaction(
    async (tx) => {
      await tx.insertInto('users').values(numbers.map(userOf)).execute()
      await tx.insertInto('products').values(numbers.map(productOf)).execute()
      await tx.insertInto('posts').values(numbers.map(postOf)).execute()
      await tx.insertInto('events').values(numbers.map(eventOf)).execute()
      await sql`
        insert into inbox (event, source, event_id, type, status, due_at, processed_at)
        select id, source, event_id, type, 'processed', created_at, created_at from events
        where event_id in (${sql.join(numbers.map((number) => eventOf(number).event_id))})
      `.execute(tx)
    },
    { timeLimit: 60_000 },
  )
}

const timeOf = (number: number): number => began + number * 1000

function userOf(number: number) {
  return {
    id: newId(timeOf(number)),
    email: `user${number}@example.com`,
    name: `User ${number}`,
    provider: 'google',
    provider_id: String(10_000_000 + number),
    role: 'user' as const,
    blocked_at: null,
    created_at: timeOf(number),
  }
}

function productOf(number: number) {
  return {
    id: `product-${String(number).padStart(6, '0')}`,
    category: categories[number % categories.length]!,
    price: ((number * 7919) % 50_000) / 100,
    stock: number % 4,
    name: `Product ${(number * 104_729) % rows}`,
    created_at: microseconds(timeOf(number)),
  }
}

function postOf(number: number) {
  return {
    id: `post-${String(number).padStart(6, '0')}`,
    title: `Post ${number}`,
    body: 'Some sentences that somebody wrote. '.repeat(6),
    created_at: microseconds(timeOf(number)),
  }
}

function eventOf(number: number) {
  return {
    event_id: `evt_${number}`,
    direction: 'received' as const,
    source: 'provider',
    type: 'order.paid',
    content_type: 'application/json',
    payload: Buffer.from(JSON.stringify({ id: `evt_${number}`, type: 'order.paid' })),
    headers: '{}',
    created_at: timeOf(number),
  }
}

function microseconds(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
