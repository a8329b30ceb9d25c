// A read-only server, such as the former primary after a fail-over, counts as unavailable.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { onPostgres, postgres, startTestService } from '../harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

test(
  'a server that becomes read-only counts as unavailable, and its connections are closed',
  onPostgres,
  async () => {
    await using home = await postgres!.createDatabase()
    await using service = await startTestService(postgres!, { databaseUrl: home.url })
    const { pathname } = new URL(home.url)
    const alter = async (value: string): Promise<void> => {
      const client = new pg.Client({ connectionString: home.url })
      await client.connect()
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = ${value}`)
      // What is connected keeps what it began with: only these become read-only, as all do at a fail-over.
      if (value === 'on')
        await client.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
      await client.end()
    }
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    await alter('on')
    await eventually(async () => (await service.fetch('/readyz')).status === 503, 'not ready')
    for (const call of [
      () => postWebhook(service, { id: 'meanwhile', type: 'work' }),
      () => service.admin('/events', { method: 'POST', json: { type: 'went.out', data: 1 } }),
      () =>
        service.admin('/subscribers', { method: 'POST', json: { url: 'https://shop.example.com/hooks' } }),
    ]) {
      const refused = await call()
      assert.equal(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
    }
    // Before the change: a session that begins between the change and a later time may stay.
    const readOnlyUntil = new Date()
    await alter('off')
    const { database } = service
    assert.ok(database.engine === 'postgres')
    // Nothing ends the connections that are read-only: the service does, since they failed.
    await eventually(async () => (await service.fetch('/readyz')).status === 200, 'ready')
    assert.equal(
      (
        await service.admin('/subscribers', {
          method: 'POST',
          json: { url: 'https://shop.example.com/hooks' },
        })
      ).status,
      201,
    )
    assert.equal((await postWebhook(service, { id: 'after', type: 'work' })).status, 200)
    // Also those that have not failed: the listening session, and the one that holds the claims.
    await eventually(
      async () => {
        const { rows } = await database.pool.query(
          `select pid from pg_stat_activity where datname = current_database() and backend_start < $1`,
          [readOnlyUntil],
        )
        return rows.length === 0
      },
      'no session is left from the time when the server was read-only',
      20_000,
    )
  },
)
