// What the database does with the slots of handlers that declare a concurrency.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ShareSlots } from '../../src/receiving/queue/store.ts'
import { postgresEventQueue } from '../../src/receiving/postgres/store.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'

let home: TestDatabase
let database: PostgresDatabase
before(async () => {
  if (!postgres) return
  home = await postgres.createMigratedDatabase()
  database = (await openDatabase(home.url)) as PostgresDatabase
})
after(async () => {
  if (!postgres) return
  await database.close()
  await home.drop()
})

interface Process {
  id: number
  share: ShareSlots
  /** Asks for one handler's slots and answers with [held, share], or with nothing. */
  ask(key: string, needs: { keeps?: number; wants: number; limit?: number; now?: number }): Promise<number[]>
}

async function newProcess(): Promise<Process> {
  const { rows } = await database.pool.query<{ id: number }>(
    'insert into claimers default values returning id',
  )
  const { id } = rows[0]!
  const claimer = { id } as PostgresDatabase['claimer']
  const { pool } = database
  const queue = postgresEventQueue({ database: { pool, claimer } as PostgresDatabase, clock: systemClock })
  const share = queue.shareSlots!
  return {
    id,
    share,
    async ask(key, { keeps = 0, wants, limit = 3, now = 0 }) {
      const [shared] = await share([{ key, limit, keeps, wants, until: now + 1_000 }], now)
      return shared ? [shared.held, shared.share] : []
    },
  }
}

test('a process gets free slots, and returns its excess when another one waits', onPostgres, async () => {
  const [one, other] = [await newProcess(), await newProcess()]
  assert.deepEqual(await one.ask('a', { wants: 3 }), [3, 3])
  assert.deepEqual(await other.ask('a', { wants: 3 }), [0, 3], 'none is free')
  assert.deepEqual(await one.ask('a', { keeps: 3, wants: 3 }), [3, 2], 'nothing is taken away from it')
  const [shared] = await one.share([{ key: 'a', limit: 3, keeps: 2, wants: 3, until: 1_000 }], 0)
  assert.deepEqual(shared, { key: 'a', held: 2, share: 2, freed: true })
  assert.deepEqual(await other.ask('a', { wants: 3 }), [1, 2])
  assert.deepEqual(await one.ask('a', { keeps: 2, wants: 2 }), [2, 2])
  assert.deepEqual(await one.ask('a', { keeps: 0, wants: 0 }), [0, 2])
  assert.deepEqual(await other.ask('a', { keeps: 1, wants: 3 }), [3, 3], 'and gets the rest')
  assert.deepEqual(await one.ask('b', { wants: 3 }), [3, 3], 'each handler has its own')
})

test('slots of a removed process, or that are not renewed, are free', onPostgres, async () => {
  const [one, other] = [await newProcess(), await newProcess()]
  assert.deepEqual(await one.ask('c', { wants: 3 }), [3, 3])
  assert.deepEqual(await other.ask('c', { wants: 3, now: 999 }), [0, 3])
  assert.deepEqual(await other.ask('c', { wants: 3, now: 1_000 }), [3, 3], 'not renewed')
  await database.pool.query('delete from claimers where id = $1', [other.id])
  assert.deepEqual(await one.ask('c', { wants: 3, now: 1_001 }), [3, 3], 'struck off')
  assert.deepEqual(await other.ask('c', { wants: 3, now: 1_001 }), [], 'and gets no answer')
})

test('concurrent requests never get more slots than exist', onPostgres, async () => {
  const processes = await Promise.all(Array.from({ length: 8 }, newProcess))
  const held = await Promise.all(processes.map((process) => process.ask('d', { wants: 5, limit: 5 })))
  assert.equal(
    held.reduce((sum, [count = 0]) => sum + count, 0),
    5,
  )
})

test('a process above a lowered limit keeps the slots of running handlers', onPostgres, async () => {
  const [one, other] = [await newProcess(), await newProcess()]
  assert.deepEqual(await one.ask('e', { wants: 3, limit: 3 }), [3, 3])
  assert.deepEqual(await other.ask('e', { wants: 1, limit: 1 }), [0, 1])
  assert.deepEqual(await one.ask('e', { keeps: 3, wants: 3, limit: 1 }), [3, 1])
  assert.deepEqual(await one.ask('e', { keeps: 0, wants: 0, limit: 1 }), [0, 1])
  assert.deepEqual(await other.ask('e', { wants: 1, limit: 1 }), [1, 1])
})

test('a process keeps no slots that have ended, because others may have them', onPostgres, async () => {
  const [one, other] = [await newProcess(), await newProcess()]
  assert.deepEqual(await one.ask('f', { wants: 3 }), [3, 3])
  assert.deepEqual(await other.ask('f', { wants: 3, now: 1_000 }), [3, 3])
  assert.deepEqual(await one.ask('f', { keeps: 2, wants: 3, now: 1_001 }), [0, 3])
})
