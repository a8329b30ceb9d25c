// Notifications between processes on one PostgreSQL.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPostgres } from '../../src/storage/postgres/database.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { engines, type TestDatabase } from '../harness/engines.ts'

for (const engine of engines.filter(({ name }) => name === 'postgres'))
  describe('notifications', () => {
    let home: TestDatabase
    let one: PostgresDatabase
    let other: PostgresDatabase

    before(async () => {
      home = await engine.createDatabase()
      one = openPostgres(home.url)
      other = openPostgres(home.url)
    })
    after(async () => {
      await Promise.all([one.close(), other.close()])
      await home.drop()
    })

    /** Collects what a process hears; `heard` resolves when an id is among it. */
    function listen(database: PostgresDatabase) {
      const ids: string[] = []
      const waiting = new Map<string, () => void>()
      database.onPublished('subscriber', (id) => {
        ids.push(id)
        waiting.get(id)?.()
      })
      return {
        ids,
        heard: (id: string) =>
          new Promise<void>((resolve) => (ids.includes(id) ? resolve() : waiting.set(id, resolve))),
      }
    }

    test('each notification of a process arrives once at every other process', async () => {
      const own = listen(one)
      const others = listen(other)
      // Until both listen: the connections are made when they are first asked for.
      for (const [teller, { heard }] of [
        [one, others],
        [other, own],
      ] as const) {
        let there = false
        const first = heard('first').then(() => (there = true))
        while (!there) {
          teller.publish('subscriber', 'first')
          await Promise.race([first, new Promise((resolve) => setTimeout(resolve, 30))])
        }
      }
      const ids = Array.from(
        { length: 1_000 },
        (_, n) => `0197a6e6-0000-7000-8000-${String(n).padStart(12, '0')}`,
      )
      for (const id of ids) one.publish('subscriber', id)
      one.publish('subscriber', 'last')
      await others.heard('last')
      other.publish('subscriber', 'answer')
      await own.heard('answer')
      // Two notifications may overtake each other: they go over different connections.
      await Promise.all(ids.map((id) => others.heard(id)))
      assert.deepEqual(others.ids.filter((id) => id !== 'first').toSorted(), [...ids, 'last'].toSorted())
      assert.deepEqual(
        own.ids.filter((id) => id !== 'first'),
        ['answer'],
      )
    })
  })
