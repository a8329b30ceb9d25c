// However many groups of failures PostgreSQL expects: what is failing is read without a pass over the queue for each of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFailing } from '../../src/receiving/attention.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { kyselyOver } from '../../src/storage/query-runner.ts'
import { onPostgres, postgres as engine } from '../harness/engines.ts'

const events = 10_000

interface PlanNode {
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** Rows of the queue that a plan read. */
function lookedAt(node: PlanNode): number {
  const { 'Actual Rows': rows = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node
  const own = node['Relation Name'] === 'event_queue' ? (rows + removed) * loops : 0
  return (node.Plans ?? []).reduce((sum, plan) => sum + lookedAt(plan), own)
}

test(
  'failing handlers are read without a pass for each group, with statistics from a time of few groups',
  onPostgres,
  async () => {
    await using home = await engine!.createMigratedDatabase()
    const { pool, ...database } = (await openDatabase(home.url)) as PostgresDatabase
    const fill = async (groups: number): Promise<void> => {
      await pool.query('truncate event_queue, failure_groups')
      await pool.query(`
      insert into event_queue (event, source, event_id, type, status, attempts, due_at, failed_at, failure_group)
        select n, 'shop', 'e' || n, 'a', case n % 3 when 0 then 'failed' when 1 then 'pending' else 'processed' end, 1, n, n,
          'g' || n % ${groups} from generate_series(1, ${events}) n`)
      await pool.query(`
      insert into failure_groups (id, handler, name, message, first_at, last_at, count)
        select 'g' || n, 'h' || n % 20, 'Error', 'm', 1, n, 1 from generate_series(0, ${groups - 1}) n`)
    }
    const explaining = kyselyOver('postgres', async ({ sql, parameters }) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) ${sql}`,
        [...parameters],
      )
      return { rows: [lookedAt(rows[0]!['QUERY PLAN'][0].Plan)] }
    })
    try {
      for (const table of ['event_queue', 'failure_groups'])
        await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
      await fill(5)
      await pool.query('analyze')
      await fill(1_000)
      const [looked] = (await readFailing(explaining, 0)) as unknown as number[]
      assert.ok(looked! > 0)
      assert.ok(looked! <= 2 * events, `${looked} rows`)
    } finally {
      await database.close()
    }
  },
)
