// After a database has returned to an earlier state, it assigns no number again: each session checks that before its first use.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chownSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { asAdmin, onPostgres, postgres, scoped, type TestDatabase } from '../harness/index.ts'
import { startOwnPostgres } from '../harness/postgres.ts'
import { copyDatabase } from '../harness/restored-database.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPostgres } from '../../src/storage/postgres/database.ts'

/** Numbers of events that are given out now. */
async function give(database: PostgresDatabase, count: number): Promise<number[]> {
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into events (event_id, direction, type, content_type, created_at, payload)
       select 'event', 'emitted', 'a', 'application/json', extract(epoch from clock_timestamp()) * 1000, '{}'
       from generate_series(1, $1) returning id`,
    [count],
  )
  return rows.map(({ id }) => id)
}

/** Whatever a session failed with while the database was away: another one is made. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

describe('continuity of the numbers', onPostgres, () => {
  let home: TestDatabase
  const opened: PostgresDatabase[] = []

  before(async () => {
    home = await postgres!.createDatabase()
    await migrate(open())
  })
  after(async () => {
    await closeAll()
    await home.drop()
  })

  const open = (): PostgresDatabase => {
    const database = openPostgres(home.url)
    opened.push(database)
    return database
  }
  const closeAll = () => Promise.all(opened.splice(0).map((database) => database.close()))

  test('a session before the first migration leaves no error in the log of the server', async () => {
    const name = 'continuity_empty'
    await asAdmin(home.url, `create database ${name}`)
    const url = new URL(home.url)
    url.pathname = name
    const database = openPostgres(url.href)
    await database.pool.query('select 1')
    await database.close()
    const admin = open()
    const rollbacks = await admin.pool.query<{ count: number }>(
      'select xact_rollback as count from pg_stat_database where datname = $1',
      [name],
    )
    assert.equal(rollbacks.rows[0]?.count, 0, 'a statement that fails is rolled back')
    await closeAll()
    await asAdmin(home.url, `drop database ${name}`)
  })

  test('an unchanged database is not reported, with any number of sessions and processes', async () => {
    const [one, two] = [open(), open()]
    let setBacks = 0
    for (const database of [one, two]) database.onSetBack(() => (setBacks += 1))
    const numbers = [await give(one, 3), await give(two, 3), await give(one, 3)].flat()
    await Promise.all(Array.from({ length: 8 }, () => one.pool.query('select pg_sleep(0.02)')))
    const from = numbers[0]!
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => from + index),
    )
    assert.equal(setBacks, 0)
    await closeAll()
  })

  test('a restored database: one session raises the sequences, and no session gets a number that was seen', async () => {
    const seeing = open()
    const ignorant = open()
    const told: string[] = []
    seeing.onSetBack(() => told.push('seeing'))
    ignorant.onSetBack(() => told.push('ignorant'))
    await give(ignorant, 1)
    await using earlier = scoped(await copyDatabase(home.url))
    try {
      const lost = await again(() => give(seeing, 1_000))
      await earlier.restore()
      // The one that has seen nothing comes first, then all of them at once, and one that was not there before.
      const fresh = open()
      const [first] = await again(() => give(ignorant, 1))
      assert.ok(first! > lost.at(-1)!)
      const numbers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => again(() => give([seeing, ignorant, fresh][index % 3]!, 2))),
      )
      const given = numbers.flat()
      assert.ok(Math.min(...given) > lost.at(-1)!)
      assert.equal(new Set(given).size, given.length)
      // Raised once: all lie close together.
      assert.ok(Math.max(...given) - first! < 1_000, `${first} to ${Math.max(...given)}`)
      assert.deepEqual([...new Set(told)].toSorted(), ['ignorant', 'seeing'])
      assert.equal(told.length, 2, 'each is told once')
      const { rows } = await fresh.pool.query<{ deliveries: number; audit: number; claimers: number }>(
        `select nextval('deliveries_id_seq') as deliveries, nextval('audit_log_seq') as audit,
           nextval('claimers_id_seq') as claimers`,
      )
      assert.ok(rows[0]!.deliveries > 1_000_000 && rows[0]!.audit > 1_000_000 && rows[0]!.claimers > 10_000)
    } finally {
      await closeAll()
    }
  })

  test('restored rows: a process that has seen higher numbers raises the sequences', async () => {
    const database = open()
    let setBacks = 0
    database.onSetBack(() => (setBacks += 1))
    const seen = (await give(database, 50)).at(-1)!
    const other = open()
    await other.pool.query(`select setval('events_id_seq', $1)`, [seen - 20])
    database.recordNumbers(seen, 7)
    // Another session of it, which closes the one from before.
    await Promise.allSettled(Array.from({ length: 2 }, () => database.pool.query('select pg_sleep(0.05)')))
    assert.equal(setBacks, 1)
    assert.ok((await give(other, 1))[0]! > seen)
    await closeAll()
  })
})

test(
  'restored files of a server, and a promoted standby: numbers continue above all that were seen',
  onPostgres,
  async () => {
    await using server = scoped(await startOwnPostgres())
    const copy = `${server.data}-copy`
    const migrating = openPostgres(server.url)
    await using database = scoped(openPostgres(server.url))
    let setBacks = 0
    database.onSetBack(() => (setBacks += 1))
    await migrate(migrating)
    await migrating.close()
    await give(database, 10)
    await server.crash()
    await promisify(execFile)('cp', ['-a', server.data, copy])
    await server.restart()
    const lost = (await again(() => give(database, 1_000))).at(-1)!
    assert.equal(setBacks, 1, 'a restart may have lost commits, too')

    await server.crash()
    rmSync(server.data, { recursive: true })
    renameSync(copy, server.data)
    const { uid, gid } = statSync(server.data)
    const signal = join(server.data, 'standby.signal')
    writeFileSync(signal, '')
    chownSync(signal, uid, gid)
    await server.restart()
    // This session lives through the promotion, and was never checked.
    const client = await again(() => database.pool.connect())
    const recovering = await client.query<{ on: boolean }>('select pg_is_in_recovery() as on')
    assert.deepEqual(recovering.rows, [{ on: true }])
    await database.seeks.query('select pg_promote()')
    await assert.rejects(client.query(`select nextval('events_id_seq')`), { code: '25006' })
    client.release(true)
    const [next] = await again(() => give(database, 1))
    assert.ok(next! > lost, `${next} and ${lost}`)
    assert.equal(setBacks, 2)
  },
)
