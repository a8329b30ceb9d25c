// The event log against a model that does the same by brute force: every page of a random walk whose limit changes, with events
// inserted and deleted between pages, must be what the model says.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readEventCursor } from '../../src/events/present.ts'
import { openEventLog } from '../../src/events/log.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { propertyRun } from '../harness/properties.ts'
import { limits, listDatabase, longestWalk } from './model.ts'

onEachEngine('lists against brute-force models', (engine) => {
  const opened = listDatabase(engine)

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
              assert.deepEqual(each(rows, 'id'), rest.slice(0, limit))
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
