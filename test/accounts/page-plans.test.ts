// SQLite has no statistics of its tables: which index it takes depends on the statements alone.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { auditEntries, type AuditFilter } from '../../src/accounts/audit/audit-log.ts'
import type { SqliteDatabase } from '../../src/storage/database.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { engines, type TestDatabase } from '../harness/engines.ts'

const engine = engines.find(({ name }) => name === 'sqlite')

describe('plans of pages on SQLite', { skip: !engine && 'TEST_ENGINE excludes SQLite' }, () => {
  let home: TestDatabase
  let database: SqliteDatabase

  before(async () => {
    home = await engine!.createMigratedDatabase()
    database = openSqlite(home.url.slice('sqlite:'.length))
  })
  after(async () => {
    await database.close()
    await home.drop()
  })

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
