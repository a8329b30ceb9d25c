// However long the log is, and whatever PostgreSQL believes about its tables: a page reads the deliveries of its own events only.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { columns } from '../../src/events/store.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { engines, type TestDatabase } from '../harness/engines.ts'

const engine = engines.find(({ name }) => name === 'postgres')
const events = 20_000
const limit = 100
/** Each event has this many. */
const deliveries = 5

interface PlanNode {
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

describe('plans of the event log', { skip: !engine && 'TEST_ENGINE leaves PostgreSQL out' }, () => {
  let testDatabase: TestDatabase
  let database: PostgresDatabase

  before(async () => {
    testDatabase = await engine!.createMigratedDatabase()
    database = (await openDatabase(testDatabase.url)) as PostgresDatabase
    const { pool } = database
    for (const table of ['deliveries', 'events', 'subscribers'])
      await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await pool.query(`
      insert into subscribers (id, url, event_types, status, ordered, signing, created_at, updated_at)
        select 's' || n, 'https://example.com/', '["*"]', 'active', 0, 'v1', 1, 1 from generate_series(1, 1000) n`)
    await pool.query(`
      insert into events (event_id, direction, type, content_type, payload, created_at)
        select 'e' || n, 'emitted', 'a', 'application/json', '{}', n from generate_series(1, ${events}) n`)
    await pool.query(`
      insert into deliveries (event, subscriber_id, status, attempts, due_at, created_at)
        select e.id, 's' || 1 + (e.id + k) % 1000, 'delivered', 1, 1, 1
        from events e, generate_series(1, ${deliveries}) k`)
  })

  after(async () => {
    await database.close()
    await testDatabase.drop()
  })

  const check = async (): Promise<void> => {
    const { rows } = await database.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json)
        select ${columns} from events e where e.id > 0 and e.id <= ${events} order by e.id limit ${limit}`,
    )
    const plan = rows[0]!['QUERY PLAN'][0].Plan
    const looked = lookedAt(plan, 'deliveries')
    assert.ok(looked <= limit * deliveries * 4, `${looked} deliveries by ${JSON.stringify(plan)}`)
  }

  test('without statistics', check)

  test('with statistics from a time without dead deliveries', async () => {
    const { pool } = database
    await pool.query('analyze')
    await pool.query(`update deliveries set status = 'dead' where id % 10 = 0`)
    await check()
  })

  test('with current statistics', async () => {
    await database.pool.query('analyze')
    await check()
  })
})

/** Rows of a table that a plan read. */
function lookedAt(node: PlanNode, table: string): number {
  const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node
  const own = node['Relation Name'] === table ? (rows + removed) * loops : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + lookedAt(plan, table), own)
}
