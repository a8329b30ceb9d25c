// The connector makes all connections to PostgreSQL, and checks each session before its first use.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { onPostgres, postgres, started } from '../harness/index.ts'
import { Connector } from '../../src/storage/postgres/pool/connector.ts'
import { endClient } from '../../src/storage/postgres/driver/session-client.ts'

const answerWithin = 60_000

describe('the connector', onPostgres, () => {
  const database = started(() => postgres!.createDatabase())

  const pool = (connector: Connector, onError: (error: Error) => void = assert.ifError) =>
    connector.openPool({ max: 2, answerWithin, onError })

  test('a session is checked before it is used, after its first statements', async () => {
    const connector = new Connector(database.url)
    const seen: string[] = []
    connector.addCheck(async (client) => {
      const { rows } = await client.query<{ style: string; name: string }>(
        "select current_setting('datestyle') as style, current_setting('application_name') as name",
      )
      seen.push(`${rows[0]!.name} ${rows[0]!.style}`)
    })
    const opened = pool(connector)
    await opened.query('select 1')
    await opened.query('select 2')
    assert.deepEqual(seen, ['postern ISO, MDY'])
    const client = connector.newClient({
      answerWithin,
      name: 'postern-beside',
      firstStatements: 'set datestyle to german',
    })
    await client.connect()
    assert.deepEqual(seen.slice(1), ['postern-beside German, DMY'])
    await endClient(client)
    await opened.close()
  })

  test('a failed check closes the connection, and the next statement gets a new one', async () => {
    const connector = new Connector(database.url)
    const processes: number[] = []
    let failing = true
    connector.addCheck(async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      processes.push(rows[0]!.pid)
      if (failing) throw new Error('not this one')
    })
    const opened = pool(connector)
    const client = connector.newClient({ answerWithin })
    await assert.rejects(opened.query('select 1'), /not this one/)
    await assert.rejects(opened.connect(), /not this one/)
    await assert.rejects(client.connect(), /not this one/)
    assert.equal(opened.totalCount, 0)
    failing = false
    const left = processes.splice(0)
    assert.equal(left.length, 3)
    // The server ends a session some time after its socket was closed.
    for (let alive = left.length; alive > 0;) {
      const { rows } = await opened.query<{ alive: number }>(
        'select count(*)::int as alive from pg_stat_activity where pid = any($1)',
        [left],
      )
      alive = rows[0]!.alive
    }
    await opened.close()
  })

  test('a session that is lost during its check fails only its caller', async () => {
    const connector = new Connector(database.url)
    const killer = pool(new Connector(database.url))
    connector.addCheck(async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      await killer.query('select pg_terminate_backend($1)', [rows[0]!.pid])
      await client.query('select 1')
    })
    const opened = pool(connector)
    await assert.rejects(opened.query('select 1'))
    await assert.rejects(connector.newClient({ answerWithin }).connect())
    assert.equal(opened.totalCount, 0)
    await Promise.all([opened.close(), killer.close()])
  })
})
