// A network path becomes silent without a reset, and new connections lead to another server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrate } from '../../src/storage/migrate.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { engines, openLink, scoped } from '../harness/index.ts'
import { startOwnPostgres } from '../harness/postgres.ts'
import { eventually } from '../receiving/harness.ts'

test(
  'a request to the old server fails as soon as another server is known',
  { skip: engines.every(({ name }) => name !== 'postgres') && 'TEST_ENGINE leaves PostgreSQL out' },
  async () => {
    await using server = scoped(await startOwnPostgres())
    await using link = await openLink(server.url)
    const before = await openDatabase(server.url)
    await migrate(before)
    await before.close()
    await using database = scoped((await openDatabase(link.url)) as PostgresDatabase)
    const client = await database.pool.connect()
    let failed: Error | undefined
    const waiting = client
      .query('select pg_sleep(600)')
      .catch((error: Error) => (failed = error))
      .finally(() => client.release(true))
    link.silence()
    await server.crash()
    await server.restart()
    await eventually(
      () =>
        database.pool.query('select 1').then(
          () => true,
          () => false,
        ),
      'new connections are made',
    )
    await eventually(() => failed, 'the statement fails')
    await waiting
    assert.match(failed!.message, /terminated/)
  },
)
