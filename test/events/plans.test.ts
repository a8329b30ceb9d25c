// However long the log is, and whatever PostgreSQL believes about its tables: a page reads the deliveries of its own events only.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { postgresEvents } from '../../src/events/log.ts'
import { columns, pageLimits } from '../../src/events/store.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { each, onPostgres, postgres as engine, type TestDatabase } from '../harness/index.ts'

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

describe('plans of the event log', onPostgres, () => {
  let testDatabase: TestDatabase
  let database: PostgresDatabase
  /** One connection, with the statements that pages are read with. */
  let session: pg.Pool

  before(async () => {
    testDatabase = await engine!.createMigratedDatabase()
    database = (await openDatabase(testDatabase.url)) as PostgresDatabase
    const { pool } = database
    session = new pg.Pool({ connectionString: testDatabase.url, max: 1 })
    for (const table of ['deliveries', 'events', 'subscribers'])
      await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await readPages(session)
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
    await session.end()
    await database.close()
    await testDatabase.drop()
  })

  /** More than the five that PostgreSQL plans by their values before it decides. */
  const readPages = async (pool: pg.Pool): Promise<void> => {
    const store = postgresEvents({ pool })
    for (let page = 0; page < 10; page += 1) {
      await store.read(page, events, pageLimits.default + 1)
      await store.readDown(events - page, events, pageLimits.default + 1)
    }
  }

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

  test('a plan from a time without events', async () => {
    for (const [name, from] of [
      ['events_page_21', 0],
      ['events_page_down_21', events],
    ] as const) {
      const { rows } = await session.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) execute ${name} (${from}, ${events})`,
      )
      const plan = rows[0]!['QUERY PLAN'][0].Plan
      const ofEvents = lookedAt(plan, 'events')
      const ofDeliveries = lookedAt(plan, 'deliveries')
      assert.ok(ofEvents <= 100, `${ofEvents} events by ${JSON.stringify(plan)}`)
      assert.ok(ofDeliveries <= 21 * deliveries * 4, `${ofDeliveries} deliveries by ${JSON.stringify(plan)}`)
    }
  })

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

  test('pages are not planned one by one', async () => {
    // As a service that starts on a long log.
    const fresh = new pg.Pool({ connectionString: testDatabase.url, max: 1 })
    await readPages(fresh)
    const { rows } = await fresh.query<{ name: string; planned: string; shared: string }>(
      `select name, custom_plans as planned, generic_plans as shared from pg_prepared_statements
        where name like 'events_page%' order by name`,
    )
    await fresh.end()
    assert.deepEqual(each(rows, 'name'), ['events_page_21', 'events_page_down_21'])
    for (const { name, planned, shared } of rows)
      assert.ok(Number(planned) === 5 && Number(shared) === 5, `${name}: ${planned} and ${shared}`)
  })
})

/** Rows of a table that a plan read. */
function lookedAt(node: PlanNode, table: string): number {
  const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node
  const own = node['Relation Name'] === table ? (rows + removed) * loops : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + lookedAt(plan, table), own)
}
