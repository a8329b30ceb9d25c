// Exports as streams: their reader sets the pace, and when it leaves nothing goes on for it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, type TestDatabase } from '../harness/engines.ts'
import { stillMinute } from '../harness/minute.ts'
import { eventually } from '../receiving/harness.ts'
import { adminKey, startTestService, type TestService } from '../harness/service.ts'

const rows = 60_000
/** 18 MB in all: several times what the system keeps for a connection whose reader does not read. */
const padding = 'x'.repeat(280)
const fields = { id: { type: 'integer' }, note: { type: 'text' } } as const
const long = list({ path: '/long', table: 'long_rows', key: 'id', fields, exports: true })
/** On PostgreSQL a view that takes a minute to read. */
const slow = list({ ...long, path: '/slow', table: 'slow_rows' })

onEachEngine('an export', (engine) => {
  let home: TestDatabase
  let service: TestService
  let statements = 0

  before(async () => {
    home = await engine.createMigratedDatabase()
    const database = await openDatabase(home.url)
    await database.transaction(
      async (tx) => {
        await sql`create table long_rows (id integer primary key, note text not null)`.execute(tx)
        await sql`insert into long_rows with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(rows)})
          select n, ${sql.lit(padding)} from numbers`.execute(tx)
        const waiting = engine.name === 'postgres' ? 'from pg_sleep(60)' : ''
        await sql.raw(`create view slow_rows as select 1 as id, 'x' as note ${waiting}`).execute(tx)
      },
      { timeLimit: 60_000 },
    )
    await database.close()
    service = await startTestService(engine, {
      databaseUrl: home.url,
      config: { listing: { lists: [long, slow] } },
    })
    countStatements(service.database)
  })
  after(async () => {
    await service.close()
    await home.drop()
  })

  /** Those that read the table. */
  function countStatements(database: Database): void {
    const count = (text: unknown): void => {
      if (JSON.stringify(text).includes('from \\"long_rows\\"')) statements += 1
    }
    if (database.engine === 'sqlite') {
      const connection = database.readConnection
      const arrays = connection.arrays.bind(connection)
      connection.arrays = (text, values) => {
        count(text)
        return arrays(text, values)
      }
      return
    }
    database.pool.on('acquire', (client) => {
      const counted = client as typeof client & { counts?: true }
      if (counted.counts) return
      counted.counts = true
      const query = client.query.bind(client) as (...parts: unknown[]) => unknown
      client.query = ((...parts: unknown[]) => {
        count(parts[0])
        return query(...parts)
      }) as typeof client.query
    })
  }

  async function begin(path: string): Promise<Socket> {
    const { hostname, port } = new URL(service.baseUrl)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.pause()
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${adminKey}\r\n\r\n`,
    )
    return socket
  }

  /** The statements on a table or view that the server is running now. */
  async function running(table: string): Promise<number> {
    if (service.database.engine === 'sqlite') return 0
    const { rows } = await service.database.pool.query<{ count: number }>(
      `select count(*) from pg_stat_activity where state = 'active' and query like '%"${table}"%' and pid <> pg_backend_pid()`,
    )
    return rows[0]!.count
  }

  /** Until no statement was run while a hundred other requests were answered. */
  async function settle(): Promise<number> {
    for (let still = 0, last = -1; still < 100; still += 1) {
      if (statements !== last || (await running('long_rows')) > 0) still = 0
      last = statements
      await (await service.fetch('/healthz')).arrayBuffer()
    }
    return statements
  }

  test('reads only as far as its client, and is complete', async () => {
    const socket = await begin('/long.ndjson')
    const read = await settle()
    assert.ok(read > 0 && read < rows / 500 / 2, `${read} statements for a reader who takes nothing`)
    const text = await new Promise<string>((resolve) => {
      const pieces: string[] = []
      let tail = ''
      socket.setEncoding('latin1').on('data', (piece: string) => {
        pieces.push(piece)
        // Of the end alone: to look at all that has come, at each piece, took most of the test's time.
        tail = (tail + piece).slice(-5)
        if (tail === '0\r\n\r\n') resolve(pieces.join(''))
      })
      socket.resume()
    })
    socket.destroy()
    assert.equal(text.match(/"id":\d+/g)!.length, rows)
    assert.ok(statements >= rows / 500)
  })

  test('is rate limited', async () => {
    const fields = { id: { type: 'text' } } as const
    const posts = list({ path: '/long', table: 'posts', key: 'id', fields, exports: true })
    await using limited = await startTestService(engine, {
      env: { RATE_LIMIT: 'on' },
      config: { listing: { lists: [posts] } },
      parts: { clock: stillMinute() },
    })
    for (let time = 0; time < 30; time += 1) {
      const response = await limited.admin('/long.csv')
      assert.equal(await response.text(), 'id\r\n')
    }
    const refused = await limited.admin('/long.csv')
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await limited.admin('/long?limit=1')).status, 200)
  })

  test('ends when its client disconnects', async () => {
    statements = 0
    const socket = await begin('/long.csv')
    const read = await settle()
    const closed = once(socket, 'close')
    socket.destroy()
    await closed
    assert.ok((await settle()) <= read + 1)
  })

  test('cancels the current statement, too', async () => {
    if (service.database.engine === 'sqlite') return
    const socket = await begin('/slow.ndjson')
    await eventually(async () => (await running('slow_rows')) > 0)
    socket.destroy()
    await eventually(async () => (await running('slow_rows')) === 0, 'it goes on for nobody', 30_000)
  })
})
