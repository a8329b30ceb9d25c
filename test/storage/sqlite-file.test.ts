// What can happen to an SQLite file besides writing: a second process that would serve it, and its disappearance.
import assert from 'node:assert/strict'
import { existsSync, renameSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { migrate } from '../../src/storage/migrate.ts'
import { SqliteConnection } from '../../src/storage/sqlite/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { onSqlite, sqlite as engine, startTestService, each } from '../harness/index.ts'

describe('one SQLite file belongs to one service', onSqlite, () => {
  test('a second service is refused, and can start once the first has stopped', async () => {
    await using home = await engine!.createDatabase()
    const first = await startTestService(engine!, { databaseUrl: home.url })
    await assert.rejects(startTestService(engine!, { databaseUrl: home.url }), { name: 'FileInUse' })
    assert.equal((await first.fetch('/readyz')).status, 200, 'the first goes on')
    await first.close()
    await using _second = await startTestService(engine!, { databaseUrl: home.url })
  })

  test('other programs can open the file', async () => {
    await using home = await engine!.createDatabase()
    await using _service = await startTestService(engine!, { databaseUrl: home.url })
    const beside = openSqlite(home.url.slice('sqlite:'.length))
    await beside.batch('work', (connection) => connection.run('delete from posts'))
    await beside.close()
  })

  test('a wait for their lock ends, also when the clock is set back', async ({ mock }) => {
    await using home = await engine!.createDatabase()
    const file = home.url.slice('sqlite:'.length)
    const database = openSqlite(file)
    const other = new SqliteConnection(file)
    other.exec('begin immediate')
    let elapsed = 0
    mock.method(Date, 'now', () => 0)
    mock.method(performance, 'now', () => (elapsed += 1_000))
    await assert.rejects(
      database.batch('work', () => undefined),
      /another process has held the write lock for 10000 ms/,
    )
    mock.restoreAll()
    other.exec('rollback')
    other.close()
    await database.close()
  })

  test('a failed start releases the file, the port and the thread', async () => {
    await using home = await engine!.createDatabase()
    await using other = await startTestService(engine!)
    const taken = new URL(other.baseUrl).port
    await assert.rejects(startTestService(engine!, { databaseUrl: home.url, env: { PORT: taken } }), {
      code: 'EADDRINUSE',
    })
    await using _second = await startTestService(engine!, { databaseUrl: home.url })
  })
})

describe('a file that is removed under a running service', onSqlite, () => {
  test('is detected before an event is acknowledged into it', async () => {
    await using home = await engine!.createDatabase()
    const file = home.url.slice('sqlite:'.length)
    const database = openSqlite(file)
    await migrate(database)
    const write = (): Promise<unknown> =>
      database.batch('request', (connection) => connection.run('delete from posts'))
    await write()
    renameSync(file, `${file}.away`)
    await assert.rejects(database.ping(), /was removed or replaced/)
    await assert.rejects(write(), { name: 'StorageUnavailable' })
    await assert.rejects(
      database.transaction((tx) => tx.deleteFrom('posts').execute()),
      { name: 'StorageUnavailable' },
    )
    renameSync(`${file}.away`, file)
    await write()
    await database.close()
  })

  test('a thread that starts meanwhile creates no new one, and so does not delete the log', async () => {
    await using home = await engine!.createDatabase()
    const file = home.url.slice('sqlite:'.length)
    const database = openSqlite(file)
    await migrate(database)
    const insert = (id: string) => ({
      sql: `insert into posts (id, title, body, created_at) values (?, '', '', '')`,
      rows: [[id]],
    })
    const { sql } = insert('')
    await database.batch('request', (connection) => connection.run(sql, ['before']))
    renameSync(file, `${file}.away`)
    await assert.rejects(database.batchInThread('request', [insert('meanwhile')]), {
      name: 'StorageUnavailable',
    })
    assert.equal(existsSync(file), false)
    assert.ok(statSync(`${file}-wal`).size > 0)
    renameSync(`${file}.away`, file)
    await database.batchInThread('request', [insert('after')])
    await database.close()
    const other = new DatabaseSync(file, { readOnly: true })
    assert.deepEqual(each(other.prepare('select id from posts order by id').all(), 'id'), ['after', 'before'])
    other.close()
  })

  test('webhooks get 503 with Retry-After until it is back', async () => {
    const { postWebhook } = await import('../receiving/harness.ts')
    await using home = await engine!.createDatabase()
    const file = home.url.slice('sqlite:'.length)
    await using service = await startTestService(engine!, { databaseUrl: home.url })
    assert.equal((await postWebhook(service, { id: 'before', type: 't' })).status, 200)
    renameSync(file, `${file}.away`)
    const refused = await postWebhook(service, { id: 'meanwhile', type: 't' })
    assert.equal(refused.status, 503)
    assert.ok(refused.headers.get('retry-after'))
    assert.equal((await service.fetch('/readyz')).status, 503)
    renameSync(`${file}.away`, file)
    assert.equal((await postWebhook(service, { id: 'meanwhile', type: 't' })).status, 200)
  })
})
