// Posts, users and events against models that do the same by brute force, as products are in products-model.test.ts:
// every page of a random walk whose limit changes, with rows inserted, changed and deleted between pages, must be what
// the model says.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readEventCursor } from '../../src/events/present.ts'
import { openEventLog } from '../../src/events/log.ts'
import { readQuery } from '../../src/listing/query.ts'
import { posts } from '../../src/listing/resources/posts.ts'
import { users } from '../../src/listing/resources/users.ts'
import type { PostsTable } from '../../src/storage/tables.ts'
import { onEachEngine } from '../harness/engines.ts'
import { propertyRun } from '../harness/properties.ts'
import { byBytes, limits, listDatabase, longestWalk, pagesOf, walkAgainstModel } from './model.ts'
import { post } from './seed.ts'

onEachEngine('lists against brute-force models', (engine) => {
  const opened = listDatabase(engine)

  // Few times, so that most tie, a microsecond apart; ids whose order differs between UTF-8 and UTF-16.
  const postId = fc
    .tuple(fc.constantFrom('', 'A', 'a', 'é', '\uffee', '😀'), fc.nat(8))
    .map((parts) => `p${parts.join('')}`)
  const postTime = fc
    .constantFrom('000000', '000001', '120000', '999999')
    .map((fraction) => `2026-01-31T08:30:00.${fraction}Z`)
  const postRow = fc.tuple(postId, postTime).map(([id, time]) => post(id, time))
  const postChange = fc.record({
    remove: fc.array(postId, { maxLength: 6 }),
    put: fc.uniqueArray(postRow, { selector: ({ id }) => id, maxLength: 4 }),
  })

  test('/api/posts: createdAt descending, then _id descending', async (context) => {
    const order = (a: PostsTable, b: PostsTable): number =>
      -byBytes(a.created_at, b.created_at) || -byBytes(a.id, b.id)
    const valuesOf = ({ id, title, body, created_at }: PostsTable): unknown[] => [id, title, body, created_at]
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(postRow, { selector: ({ id }) => id, maxLength: 40 }),
        limits,
        fc.array(postChange, { maxLength: 4 }),
        (initial, limits, changes) =>
          walkAgainstModel(opened.database, 'posts', {
            list: posts,
            parameters: {},
            initial,
            limits,
            changes,
            passes: () => true,
            order,
            valuesOf,
          }),
      ),
      propertyRun(context),
    )
  })

  test('/users: pages and total of the current rows', async (context) => {
    const { database } = opened
    const pages = pagesOf(database)
    const ids = fc.uniqueArray(
      fc.nat(60).map((n) => `u${n}`),
      { maxLength: 40 },
    )
    const rows = (all: readonly string[]) =>
      all.map((id) => ({
        id,
        email: null,
        name: `Name of ${id}`,
        provider: 'google',
        provider_id: id,
        role: 'user' as const,
        blocked_at: null,
        created_at: 0,
      }))
    const visit = fc.record({
      page: fc.integer({ min: -1, max: 12 }),
      limit: fc.integer({ min: -1, max: 9 }),
      remove: fc.array(fc.nat(60), { maxLength: 6 }),
      put: fc.uniqueArray(fc.nat(60), { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(ids, fc.array(visit, { minLength: 1, maxLength: 6 }), async (initial, visits) => {
        const table = new Set(initial)
        await database.transaction(async (tx) => {
          await tx.deleteFrom('users').execute()
          if (initial.length > 0) await tx.insertInto('users').values(rows(initial)).execute()
        })
        for (const { page, limit, remove, put } of visits) {
          const found = await pages.byOffset.read(
            readQuery(users, { page: String(page), limit: String(limit) }),
          )
          const applied = { page: Math.max(page, 1), limit: limit === 0 ? 20 : Math.max(limit, 1) }
          const from = (applied.page - 1) * applied.limit
          const expected = [...table].toSorted(byBytes).slice(from, from + applied.limit)
          assert.deepEqual(
            found.rows.map(([id]) => id),
            expected,
          )
          assert.deepEqual(
            { page: found.page, limit: found.limit, total: found.total },
            { ...applied, total: table.size },
          )
          const added = put.map((n) => `u${n}`)
          const gone = [...remove.map((n) => `u${n}`), ...added]
          for (const id of gone) table.delete(id)
          for (const id of added) table.add(id)
          await database.transaction(async (tx) => {
            if (gone.length > 0) await tx.deleteFrom('users').where('id', 'in', gone).execute()
            if (added.length > 0) await tx.insertInto('users').values(rows(added)).execute()
          })
        }
      }),
      propertyRun(context),
    )
  })

  for (const descending of [false, true]) {
    test(`/events: by id, ${descending ? 'descending' : 'ascending'}, over gaps, while events are inserted and deleted`, async (context) => {
      const { database } = opened
      const log = openEventLog(database)
      const change = fc.record({
        /** Indexes of rows to delete, as retention does. */
        remove: fc.array(fc.nat(60), { maxLength: 6 }),
        /** Numbers that a rolled back transaction used. */
        rolledBack: fc.nat(2),
        add: fc.nat(5),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.nat(30),
          limits,
          fc.array(change, { maxLength: 5 }),
          async (initial, sizes, changes) => {
            await database.transaction((tx) => tx.deleteFrom('events').execute())
            const there = await addEvents(initial)
            let cursor: string | undefined
            for (let step = 0; ; step += 1) {
              assert.ok(step < longestWalk, 'the walk does not end')
              const limit = sizes[step % sizes.length]!
              const at = readEventCursor(cursor)
              const { rows, hasNext } = descending
                ? await log.newest(cursor === undefined ? Number.MAX_SAFE_INTEGER : at, limit)
                : await log.page(at, limit)
              const rest = there
                .filter((id) => cursor === undefined || (descending ? id < at : id > at))
                .toSorted((a, b) => (descending ? b - a : a - b))
              assert.deepEqual(
                rows.map(({ id }) => id),
                rest.slice(0, limit),
              )
              assert.equal(hasNext, rest.length > limit)
              if (!hasNext) break
              cursor = String(rows.at(-1)!.id)
              const { remove, rolledBack, add } = changes[step] ?? { remove: [], rolledBack: 0, add: 0 }
              const gone = new Set(remove.flatMap((n) => there[n] ?? []))
              if (gone.size > 0)
                await database.transaction((tx) =>
                  tx
                    .deleteFrom('events')
                    .where('id', 'in', [...gone])
                    .execute(),
                )
              const remaining = there.filter((id) => !gone.has(id))
              await addEvents(rolledBack, false)
              there.splice(0, there.length, ...remaining, ...(await addEvents(add)))
            }
          },
        ),
        propertyRun(context),
      )
    })
  }

  /** Inserts events and returns their numbers; without `commit`, it rolls them back. */
  async function addEvents(count: number, commit = true): Promise<number[]> {
    if (count === 0) return []
    const event = {
      direction: 'emitted' as const,
      source: null,
      type: 'model',
      content_type: 'application/json',
      payload: Buffer.from('{}'),
      headers: null,
      created_at: 0,
    }
    const transaction = opened.database.begin()
    const added = await transaction.tx
      .insertInto('events')
      .values(Array.from({ length: count }, (_, index) => ({ ...event, event_id: `e${index}` })))
      .returning('id')
      .execute()
    await (commit ? transaction.commit() : transaction.rollback())
    return added.map(({ id }) => id)
  }
})
