// Reads of pages on SQLite run in a thread, so that what they take delays nothing else.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { StorageUnavailable } from '../../src/storage/unavailable.ts'
import { onSqlite, sqlite as engine, startedService } from '../harness/index.ts'
import { postWebhook } from '../receiving/harness.ts'

/** Takes seconds. */
const slowRead = sql<{ count: number }>`
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10000000)
  select count(*) as count from numbers`

const pages = [
  '/attention',
  '/audit?failed=true',
  '/deliveries?status=dead',
  '/events?status=failed',
  '/events/failed',
  '/failures',
  '/handlers',
  '/metrics/history?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z',
  '/owners',
  '/providers',
  '/queues',
  '/rejected-webhooks',
  '/search?q=ada',
  '/sources',
  '/subscribers',
]

describe('the reader of pages', onSqlite, () => {
  const service = startedService(engine!)

  test('a slow read holds up no acknowledgement, and pages wait for it in its thread', async () => {
    const ended: string[] = []
    const noted = async (name: string, work: Promise<unknown>): Promise<void> => {
      await work
      ended.push(name)
    }
    const all = [noted('slow read', slowRead.execute(service.database.slowReader))]
    for (const path of pages)
      all.push(
        noted(
          path,
          service.admin(path).then(({ status }) => assert.equal(status, 200, path)),
        ),
      )
    await noted(
      'acknowledged',
      postWebhook(service, { id: 'evt_beside', type: 'a' }).then(({ status }) => assert.equal(status, 200)),
    )
    await Promise.all(all)
    assert.deepEqual(ended.slice(0, 2), ['acknowledged', 'slow read'])
  })

  test('shows at once what was committed, and types as the reader does', async () => {
    const { slowReader, reader } = service.database
    await service.database.transaction((tx) =>
      tx
        .insertInto('handler_failures')
        .values({ event: 2 ** 50, number: 1, at: 5, duration_ms: 1, error: 'é' })
        .execute(),
    )
    const read = (db: typeof reader) => db.selectFrom('handler_failures').selectAll().execute()
    assert.deepEqual(await read(slowReader), [
      { event: 2 ** 50, number: 1, at: 5, duration_ms: 1, error: 'é' },
    ])
    const bytes = await sql<{ bytes: Uint8Array }>`select x'00ff' as bytes`.execute(slowReader)
    assert.deepEqual([...bytes.rows[0]!.bytes], [0, 255])
  })

  test('reports the errors of statements, and that the database is closed', async () => {
    await assert.rejects(sql`select one from nowhere`.execute(service.database.slowReader), /nowhere/)
    await using home = await engine!.createDatabase()
    const database = openSqlite(home.url.slice('sqlite:'.length))
    await sql`select 1`.execute(database.slowReader)
    await database.close()
    await assert.rejects(sql`select 1`.execute(database.slowReader), StorageUnavailable)
  })
})
