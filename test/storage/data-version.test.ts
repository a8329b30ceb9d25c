import { sql } from 'kysely'
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { before, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { eventually } from '../receiving/harness.ts'
import { onSqlite, sqlite as engine, started } from '../harness/index.ts'

describe('the data version', onSqlite, () => {
  const home = started(() => engine!.createDatabase())
  const database = started(async () => openSqlite(home.url.slice('sqlite:'.length)))
  before(() => database.batch('request', (connection) => connection.exec('create table numbers (n integer)')))

  test('changes with each write of this process, even in the same turn of the event loop', async () => {
    const seen = new Set([database.dataVersion()])
    await database.batch('request', (connection) => connection.exec('insert into numbers values (1)'))
    seen.add(database.dataVersion())
    await database.transaction((tx) => sql`insert into numbers values (2)`.execute(tx))
    seen.add(database.dataVersion())
    await database.batchInThread('request', [{ sql: 'insert into numbers values (?)', rows: [[3]] }])
    seen.add(database.dataVersion())
    assert.equal(seen.size, 4)
  })

  test('does not change without a write', async () => {
    const before = database.dataVersion()
    await nextTurn()
    assert.equal(database.dataVersion(), before)
  })

  test('changes soon after a commit of another process', async () => {
    const before = database.dataVersion()
    const other = new DatabaseSync(database.file)
    other.exec('insert into numbers values (4)')
    other.close()
    await eventually(() => database.dataVersion() !== before, 'the version changes')
  })
})
