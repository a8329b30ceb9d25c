// Statements of pages read few rows, also where a planner has reasons for another plan.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditEntries, type AuditFilter } from '../../src/accounts/audit/audit-log.ts'
import { planPage } from '../../src/listing/plan.ts'
import { readQuery } from '../../src/listing/query.ts'
import { usersList } from '../../src/listing/resources/users.ts'
import { openPostgres } from '../../src/storage/postgres/database.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { engines, scoped, started } from '../harness/index.ts'

const engine = engines.find(({ name }) => name === 'sqlite')

// SQLite has no statistics of its tables: which index it takes depends on the statements alone.
describe('plans of pages on SQLite', { skip: !engine && 'TEST_ENGINE excludes SQLite' }, () => {
  const home = started(() => engine!.createMigratedDatabase())
  const database = started(async () => openSqlite(home.url.slice('sqlite:'.length)))

  const planOf = (sql: string, parameters: readonly unknown[]): string =>
    database.readConnection
      .all<{ detail: string }>(`explain query plan ${sql}`, parameters as string[])
      .map(({ detail }) => detail)
      .join('\n')

  test('entries of the audit log are sought by whom they are about, and not by an action that most have', () => {
    const narrow: [AuditFilter, string][] = [
      [{ userId: 'u' }, 'audit_of_user'],
      [{ actor: 'user:a' }, 'audit_of_actor'],
      [{ target: 'subscriber:s' }, 'audit_of_target'],
      [{ address: '203.0.113.7' }, 'audit_of_address'],
      [{ supportId: '5c198bca' }, 'audit_of_reference'],
      [{ supportId: '5c198bca-6c0d-4f0e-8a7e-1d5f6a2b3c4d' }, 'audit_of_reference'],
    ]
    for (const [filter, index] of narrow)
      for (const failed of [undefined, true, false]) {
        const whole: AuditFilter = { ...filter, action: 'user.signed_in', since: 1 }
        if (failed !== undefined) whole.failed = failed
        const query = auditEntries(database, whole)
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(51)
        const { sql, parameters } = query.compile()
        assert.match(planOf(sql, parameters), new RegExp(`^SEARCH audit_log USING INDEX ${index} `))
        assert.doesNotMatch(planOf(sql, parameters), /TEMP B-TREE/)
      }
  })

  test('users of a provider are read in the order of their last use, and not sorted', () => {
    const plan = planOf(
      'select id, email from users where provider = ? order by last_seen_at desc, id desc limit 51',
      ['google'],
    )
    assert.doesNotMatch(plan, /TEMP B-TREE/)
  })
})

const postgres = engines.find(({ name }) => name === 'postgres')

describe('plans of pages on PostgreSQL', { skip: !postgres && 'TEST_ENGINE excludes PostgreSQL' }, () => {
  test('a search of users reads those that it found, and not all in the order of the page', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using database = scoped(openPostgres(home.url))
    await database.pool.query(`insert into users (id, email, name, provider, provider_id, role, created_at)
      select 'u' || lpad(n::text, 9, '0'), case when n < 3000 then 'ada' else 'bob' end || n, 'name', 'google', 'p' || n, 'user', 0
      from generate_series(1, 30000) n`)
    await database.pool.query('analyze users')
    const list = usersList([])
    const { filters, order, values } = readQuery(list, { q: 'ada', sort: '-id' })
    const plan = planPage({ list, filters, order, rows: 51, from: 'start' }, 'postgres')
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, timing off, costs off) ${plan.sql}`,
      plan.slots.map((slot) => values[slot]),
    )
    const text = rows.map((row) => row['QUERY PLAN']).join('\n')
    const most = Math.max(...Array.from(text.matchAll(/rows=(\d+)/g), ([, count]) => Number(count)))
    // 2,999 match, and 1,000 of them are taken.
    assert.ok(most <= 3_000, text)
  })
})
