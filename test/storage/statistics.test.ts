// PostgreSQL keeps the plan of a prepared statement until the table is analyzed.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openPostgres } from '../../src/storage/postgres/database.ts'
import { analyzeChanged } from '../../src/storage/postgres/statistics.ts'
import { engines, started } from '../harness/index.ts'

for (const engine of engines.filter(({ name }) => name === 'postgres'))
  describe('statistics', () => {
    const home = started(() => engine.createMigratedDatabase())
    // One connection: what is prepared on it is there for the next statement.
    const database = started(async () => openPostgres(home.url))
    before(async () => {
      // Autovacuum would do the same, some time.
      await database.pool.query('alter table event_queue set (autovacuum_enabled = false)')
    })

    const fill = async (from: number, to: number): Promise<void> => {
      await database.pool.query(
        `insert into event_queue (event, source, event_id, type, status, due_at)
          select n, 'provider', 'e' || n, 'a', 'pending', n from generate_series($1::int, $2::int) as n`,
        [from, to],
      )
      // What a connection has changed is told by and by.
      await database.pool.query('select pg_stat_force_next_flush()')
    }
    const prepared =
      'update event_queue set attempts = attempts from unnest($1::bigint[]) as given (event) where event_queue.event = given.event'
    const run = (name: string) => database.pool.query({ name, text: prepared, values: ['{1,2,3}'] })
    const planOf = async (name: string): Promise<string> =>
      (await database.pool.query<{ 'QUERY PLAN': string }>(`explain execute ${name} ('{1,2,3}')`)).rows
        .map((row) => row['QUERY PLAN'])
        .join('\n')

    /**
     * Prepares the statement for an almost empty table, then fills the table. Starts again if the server dropped the plan: it drops
     * all plans of a connection that is behind with the invalidation messages of a server's other databases.
     */
    const prepareBeforeGrowth = async (): Promise<string> => {
      for (let times = 1; times <= 10; times += 1) {
        const name = `probe_${times}`
        await database.pool.query('truncate event_queue')
        await fill(1, 20)
        for (let runs = 0; runs < 8; runs += 1) await run(name)
        await fill(21, 30_000)
        if (/Seq Scan on event_queue/.test(await planOf(name))) return name
      }
      throw new Error('no plan was kept')
    }

    test('a statement that was planned for an almost empty table gets a new plan when the table has grown', async () => {
      const name = await prepareBeforeGrowth()
      await database.pool.query('set role pg_read_all_data')
      assert.deepEqual(await analyzeChanged(database.pool), [], 'of a table that is not ours')
      await database.pool.query('reset role')
      assert.deepEqual(await analyzeChanged(database.pool), ['event_queue'])
      assert.doesNotMatch(await planOf(name), /Seq Scan on event_queue/)
      assert.deepEqual(await analyzeChanged(database.pool), [], 'nothing has changed since')
    })

    test('a table with few changes is not analyzed', async () => {
      await fill(30_001, 40_000)
      assert.deepEqual(await analyzeChanged(database.pool), [])
      await fill(40_001, 150_000)
      assert.deepEqual(await analyzeChanged(database.pool), ['event_queue'])
    })
  })
