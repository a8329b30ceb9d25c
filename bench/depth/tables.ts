import { sql } from 'kysely'
import { Keyring } from '../../src/crypto/keyring.ts'
import { posts } from '../../src/listing/resources/products-and-posts.ts'
import { users } from '../../src/listing/resources/users.ts'
import { countedOrderOf } from '../../src/listing/counts/counts.ts'
import { CountsWriter } from '../../src/listing/counts/writer.ts'
import { readQuery } from '../../src/listing/query.ts'
import { Cursors } from '../../src/paging/cursor.ts'
import { createTriggers, dropTriggers } from '../../src/storage/maintained-counts.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { fill, padded } from '../harness/fill.ts'
import { production } from '../harness/postern.ts'

const writers = 16

const idOf = (number: number): string => `row-${String(number).padStart(9, '0')}`
const timeOf = (number: number): string => `2026-01-01T00:00:${String(number % 60).padStart(2, '0')}.000000Z`

/** Users and posts, as many of each; of the posts most share their time with others. */
export async function fillTables(url: string, count: number): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    const id = `'row-' || ${padded(database, 9)}`
    const second = padded(database, 2, 'n % 60')
    await fill(database, count, [
      {
        into: 'users (id, email, name, provider, provider_id, role, blocked_at, created_at)',
        values: `${id}, ${id}, 'Name', 'google', ${id}, 'user', null, n`,
      },
      {
        into: 'posts (id, title, body, created_at)',
        values: `${id}, 'Title', 'Some sentences that somebody wrote.', '2026-01-01T00:00:' || ${second} || '.000000Z'`,
      },
    ])
    await new CountsWriter(database, users).rebuild()
    if (database.engine === 'postgres') await database.pool.query('vacuum analyze')
  } finally {
    await database.close()
  }
}

/** The address of the page of posts before the last one: its cursor is made as Postern makes it. */
export function farEnd(count: number): string {
  // The oldest second comes last, and within it the lowest ids.
  const number = Math.min(60 * 30, count - 1 - ((count - 1) % 60))
  const { scopes } = readQuery(posts, {})
  const cursor = new Cursors(new Keyring([production.POSTERN_SECRET])).encode(scopes.next, [
    timeOf(0),
    idOf(number),
  ])
  return `/api/posts?cursor=${cursor}`
}

/** A function that inserts users, one per commit, with the triggers that keep their counts or without, and tells rows per second. */
export function insertRates(url: string, count: number): (kept: boolean) => Promise<number> {
  let next = 0
  return async (kept) => {
    const database = await openDatabase(url)
    try {
      await migrate(database)
      const order = countedOrderOf(users)
      const triggers = createTriggers(order, database.engine)
      const drops = dropTriggers(order, database.engine)
      const change = async (statements: readonly string[]): Promise<void> => {
        await database.transaction(async (tx) => {
          for (const statement of statements) await sql.raw(statement).execute(tx)
        })
      }
      await change(drops)
      if (kept) await change(triggers)
      const insert = async (): Promise<void> => {
        const id = `new-${String((next += 1)).padStart(9, '0')}-${process.pid}`
        await database.single((tx) =>
          tx
            .insertInto('users')
            .values({
              id,
              email: id,
              name: 'Name',
              provider: 'google',
              provider_id: id,
              role: 'user',
              blocked_at: null,
              created_at: 0,
            })
            .execute(),
        )
      }
      const began = performance.now()
      const each = Math.ceil(count / writers)
      await Promise.all(
        Array.from({ length: writers }, async () => {
          for (let number = 0; number < each; number += 1) await insert()
        }),
      )
      const rate = (each * writers * 1_000) / (performance.now() - began)
      await change(drops)
      await change(triggers)
      return rate
    } finally {
      await database.close()
    }
  }
}
