import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SqliteDatabase } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { onSqlite, sqlite as engine, type TestDatabase } from '../harness/engines.ts'

/** The rules by which one SQLite file is shared by asynchronous transactions and synchronous batches. */
describe('the write gate of SQLite', onSqlite, () => {
  let home: TestDatabase
  let file: string
  let database: SqliteDatabase

  before(async () => {
    home = await engine!.createDatabase()
    file = home.url.slice('sqlite:'.length)
    database = openSqlite(file)
    await migrate(database)
    await database.batch('request', (connection) => connection.exec('create table notes (text text) strict'))
  })
  after(async () => {
    await database.close()
    await home.drop()
  })

  const notes = (): string[] =>
    database.readConnection
      .all<{ text: string }>('select text from notes order by rowid')
      .map(({ text }) => text)
  const note = (text: string) => (connection: { run(sql: string, values: string[]): unknown }) =>
    connection.run('insert into notes values (?)', [text])

  test('a batch does not join an open transaction, and is not rolled back with it', async () => {
    const handler = database.begin({ priority: 'work' })
    await handler.tx
      .insertInto('jobs')
      .values({
        id: 'j',
        kind: 'replay',
        filter: '',
        status: 'running',
        total: 0,
        done: 0,
        position: 0,
        due_at: 0,
        created_at: 0,
        updated_at: 0,
      } as never)
      .execute()
    const waiting = database.batch('acknowledge', note('from the batch'))
    await handler.rollback()
    await waiting
    assert.deepEqual(notes(), ['from the batch'])
    assert.equal(database.readConnection.get<{ n: number }>('select count(*) as n from jobs')?.n, 0)
  })

  test('while a transaction is open, `hold` gives up in time, and the event loop continues', async () => {
    const handler = database.begin({ priority: 'work' })
    await handler.tx.selectFrom('users').selectAll().execute()
    assert.equal(await database.hold('acknowledge', 1), undefined)
    let turns = 0
    for (let turn = 0; turn < 100; turn += 1)
      await new Promise((resolve) => setImmediate(() => resolve((turns += 1))))
    assert.equal(turns, 100)
    await handler.commit()
    const release = await database.hold('acknowledge', 1)
    assert.ok(release)
    release()
  })

  test('waiting for the lock of another process does not block the event loop', async () => {
    const other = openSqlite(file)
    const foreign = other.begin()
    await foreign.tx.selectFrom('users').selectAll().execute()
    const waiting = database.batch('request', note('after the other process'))
    let ticked = false
    await new Promise((resolve) => setImmediate(() => resolve((ticked = true))))
    assert.ok(ticked)
    await foreign.commit()
    await waiting
    assert.ok(notes().includes('after the other process'))
    await other.close()
  })

  test('a write outside tx inside a transaction is an error instead of a deadlock', async () => {
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.selectFrom('users').selectAll().execute()
        await database.batch('work', note('never'))
      }),
      /use tx/,
    )
  })

  test('the reader cannot write', async () => {
    await assert.rejects(database.reader.deleteFrom('users').execute())
  })
})
