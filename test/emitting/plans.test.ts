// However much waits, and whatever PostgreSQL believes about its tables: no statement of the dispatcher reads one through.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Pool } from 'pg'
import { openDeliveryStore } from '../../src/emitting/parts.ts'
import { startPosition, type Completion, type DeliveryStore } from '../../src/emitting/store.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onPostgres, postgres as engine, type TestDatabase } from '../harness/engines.ts'

const listener = { lost: () => undefined, freed: () => undefined }

/** Of which one subscriber has most, and the others some each. */
const deliveries = 120_000
const subscribers = 400
const eachOther = 50
/** Rows that a statement looks at, at most, for what is asked of it here. */
const mostRows = 5_000
/** Tables that grow with what is delivered. */
const large = new Set(['deliveries', 'attempts', 'events'])

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

interface Statement {
  text: string
  values: unknown[]
  /** Where it is run. */
  pool: Pool
}

/** What gives each of these the order that it asks for. */
const indexOf: Readonly<Record<string, readonly string[]>> = {
  due: ['deliveries_due', 'deliveries_in_order'],
  'read first attempts': ['deliveries_due'],
  'read in order': ['deliveries_in_order'],
  oldest: ['deliveries_due', 'deliveries_in_order'],
}

describe('plans of the dispatcher', onPostgres, () => {
  let testDatabase: TestDatabase
  let database: PostgresDatabase
  let store: DeliveryStore
  const statements = new Map<string, Statement>()

  before(async () => {
    testDatabase = await engine!.createMigratedDatabase()
    database = (await openDatabase(testDatabase.url)) as PostgresDatabase
    // What is known of the tables is what the test says.
    for (const table of ['deliveries', 'attempts', 'events', 'subscribers', 'queue_owners'])
      await database.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await fill(database)
    store = openDeliveryStore(database, () => undefined)
    await store.acquireSession(listener)
    for (const [name, statement] of await statementsOf(database, store)) statements.set(name, statement)
  })

  after(async () => {
    await store.releaseSession()
    await database.close()
    await testDatabase.drop()
  })

  const check = async (): Promise<void> => {
    assert.ok(statements.size >= 8, [...statements.keys()].join(' '))
    for (const [name, statement] of statements) {
      // As it is planned for all values, and for these.
      for (const plan of [await genericPlan(statement), await ranPlan(statement)])
        for (const node of nodesOf(plan)) {
          const what = `${name}: ${JSON.stringify(node)}\nin ${JSON.stringify(plan, null, 1)}`
          if (!large.has(node['Relation Name'] ?? '')) continue
          assert.notEqual(node['Node Type'], 'Seq Scan', what)
          if (/^(Bitmap )?Index/.test(node['Node Type'])) assert.ok(node['Index Cond'], what)
          const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0 } = node
          const looked = (rows + (node['Rows Removed by Filter'] ?? 0)) * loops
          assert.ok(looked <= mostRows, `${looked} rows were looked at by ${what}`)
        }
    }
  }

  test('without statistics', check)

  test('with statistics from a time without pending deliveries', async () => {
    const { pool } = database
    await pool.query(`update deliveries set status = 'delivered'`)
    await pool.query('analyze')
    await pool.query(`update deliveries set status = 'pending'`)
    await check()
  })

  test('with current statistics', async () => {
    await database.pool.query('analyze')
    await check()
  })

  /** Lengths at which one index is a level higher than another, and at which a table fits a page. */
  for (const length of [0, 1, 100, 250, 1_000, 60_000])
    for (const analyzed of [false, true])
      test(`uses the index in the order, with ${length} rows, ${analyzed ? 'with' : 'without'} statistics`, async () => {
        const { pool } = database
        await pool.query('truncate deliveries')
        await pool.query(
          `insert into deliveries (event, subscriber_id, status, attempts, due_at, created_at)
            select n, 's1', 'pending', 0, n, 1 from generate_series(1, $1::int) n`,
          [length],
        )
        if (analyzed) await pool.query('analyze deliveries')
        for (const [name, indexes] of Object.entries(indexOf)) {
          const plan = await genericPlan(statements.get(name)!)
          const read = [...nodesOf(plan)].filter((node) => node['Relation Name'] === 'deliveries')
          const found = new Set(read.map((node) => node['Index Name'] ?? node['Node Type']))
          assert.deepEqual([...found].toSorted(), indexes, `${name}: ${JSON.stringify(plan, null, 1)}`)
          if (name !== 'due') continue
          for (const node of nodesOf(plan))
            if (node['Relation Name'] === 'subscribers')
              assert.ok(node['Index Cond'], JSON.stringify(plan, null, 1))
        }
      })
})

async function fill({ pool }: PostgresDatabase): Promise<void> {
  await pool.query(`
    insert into subscribers (id, url, event_types, status, ordered, signing, http_signature, operational, created_at,
      updated_at)
    select 's' || n, 'http://127.0.0.1:9/', '["*"]', 'active', case when n = 2 then 1 else 0 end, 'v1', 0, 0, 1, 1
    from generate_series(1, ${subscribers}) n`)
  await pool.query(`
    insert into events (event_id, direction, type, content_type, created_at, payload)
    select 'e' || n, 'emitted', 'a', 'application/json', 1, '{}' from generate_series(1, 20000) n`)
  // Every tenth waits for its second attempt.
  await pool.query(`
    insert into deliveries (event, subscriber_id, status, attempts, due_at, created_at)
    select 1 + n % 20000,
      's' || case when n <= ${subscribers * eachOther} then 1 + n % ${subscribers} else 1 end, 'pending',
      case when n % 10 = 0 then 1 else 0 end, n, 1
    from generate_series(1, ${deliveries}) n`)
  await pool.query(`
    insert into attempts (delivery, number, at, duration_ms, request_headers)
    select id, 1, 1, 1, '{}' from deliveries where attempts = 1`)
}

/** Every statement that the store sends, with values as the dispatcher has them. */
async function statementsOf(
  database: PostgresDatabase,
  store: DeliveryStore,
): Promise<Map<string, Statement>> {
  const found = new Map<string, Statement>()
  let doing = ''
  const restore = [database.pool, database.seeks].map((pool) => {
    const query = pool.query.bind(pool) as (...all: unknown[]) => Promise<unknown>
    pool.query = ((first: string | Statement, ...rest: unknown[]) => {
      const { text, values } = typeof first === 'string' ? { text: first, values: rest[0] } : first
      found.set(doing, { text, values: (values as unknown[] | undefined) ?? written, pool })
      return query(first, ...rest)
    }) as typeof pool.query
    return () => (pool.query = query as typeof pool.query)
  })
  const now = deliveries
  const others = Array.from({ length: 100 }, (_, n) => `s${n + 3}`)
  const reads = (retries: boolean, behind = { dueAt: 1_000, id: 1_000 }) =>
    ['s1', ...others].map((subscriberId) => ({
      subscriberId,
      ordered: false as const,
      retries,
      behind,
      count: 20,
    }))
  const completion = (id: number): Completion => ({
    delivery: { id, number: 1, nonce: null },
    status: 'delivered',
    dueAt: 5,
    finishedAt: 5,
    attempt: {
      at: 4,
      durationMs: 1,
      status: 204,
      error: null,
      failure: null,
      phases: null,
      requestHeaders: '{}',
      responseHeaders: null,
      requestBody: undefined,
      responseBody: null,
    },
  })
  const completions = Array.from({ length: 200 }, (_, n) => completion(n + 1))
  /** Of `complete`, which writes them into its message by itself. */
  const written = [
    ['id', 'number'].map((key) => completions.map(({ delivery }) => delivery[key as 'id' | 'number'])),
    ['status', 'dueAt', 'finishedAt'].map((key) => completions.map((one) => one[key as 'status'])),
    Object.keys(completion(0).attempt).map((key) => completions.map(({ attempt }) => attempt[key as 'at'])),
    [completions.map(({ delivery }) => delivery.nonce)],
  ].flat()
  const calls: [name: string, call: () => Promise<unknown>][] = [
    ['due', () => store.subscribersDue(now, '')],
    ['due, from the middle', () => store.subscribersDue(now, 's2')],
    ['take', () => store.claim(['s1', ...others])],
    ['read first attempts', () => store.readDue(reads(false), now)],
    ['read from the beginning', () => store.readDue(reads(false, startPosition), now)],
    ['read retries', () => store.readDue(reads(true), now)],
    ['read in order', () => store.readDue([{ subscriberId: 's2', ordered: true }], now)],
    ['subscribers', () => store.activeSubscribers(['s1', ...others])],
    [
      'payloads',
      () =>
        store.readPayloads(
          Array.from({ length: 200 }, (_, n) => n + 1),
          8_192,
        ),
    ],
    ['complete', () => store.complete(completions)],
    ['release', () => store.release(others)],
    ['oldest', () => store.oldestDue(now, new Set())],
  ]
  for (const [name, call] of calls) {
    doing = name
    await call()
  }
  for (const one of restore) one()
  return found
}

async function genericPlan({ pool, text }: Statement): Promise<PlanNode> {
  const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (generic_plan, format json) ${text}`,
  )
  return rows[0]!['QUERY PLAN'][0].Plan
}

async function ranPlan({ pool, text, values }: Statement): Promise<PlanNode> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) ${text}`,
      values,
    )
    return rows[0]!['QUERY PLAN'][0].Plan
  } finally {
    await client.query('rollback')
    client.release()
  }
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node
  for (const child of node.Plans ?? []) yield* nodesOf(child)
}
