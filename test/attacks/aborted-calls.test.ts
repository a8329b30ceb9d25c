// Clients that go away while their credential is read: what a call takes must be given back although nobody gets its answer.
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { mostViewers } from '../../src/events/live/hub.ts'
import { adminKey, onEachEngine, startedService, type TestService } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'

onEachEngine('calls whose clients have gone', (engine) => {
  const service = startedService(engine, () => ({
    // In demo mode no credential would be read.
    env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
  }))

  const call = (url: string, method: 'GET' | 'POST' = 'GET', payload?: object) =>
    service.app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${adminKey}` },
      ...(payload && { payload }),
    })

  /** Sends a request, and resets its connection once it has arrived. */
  async function callAndLeave(path: string, key: string, arrived: () => Promise<unknown>): Promise<void> {
    const { port } = service.app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: gate.example.com\r\naccept: text/event-stream\r\nauthorization: Bearer ${key}\r\n\r\n`,
    )
    await once(socket, 'connect')
    await arrived()
    const closed = once(socket, 'close')
    socket.resetAndDestroy()
    await closed
  }

  /** The same so many times, while the credential is read. */
  async function leaveOften(path: string, times: number): Promise<string> {
    const created = await call('/keys', 'POST', { name: 'impatient', scopes: ['events:read'] })
    const { key } = created.json<{ key: string }>()
    for (let count = 0; count < times; count += 1) {
      // On SQLite credentials are read without waiting.
      if (engine.name === 'sqlite') {
        await callAndLeave(path, key, async () => undefined)
        continue
      }
      const lock = new pg.Client(service.databaseUrl)
      await lock.connect()
      await lock.query('begin')
      await lock.query('lock table api_keys in access exclusive mode')
      await callAndLeave(path, key, () => waitsForLock(service))
      await lock.query('rollback')
      await lock.end()
    }
    return key
  }

  test('live connections that nobody waits for take no place', async () => {
    const key = await leaveOften('/live', mostViewers.person)
    const { port } = service.app.server.address() as AddressInfo
    const open = async (): Promise<boolean> => {
      const headers = { accept: 'text/event-stream', authorization: `Bearer ${key}` }
      const answer = await fetch(`http://127.0.0.1:${port}/live`, { headers })
      await answer.body?.cancel()
      return answer.status === 200
    }
    await eventually(open, 'a connection', 60_000)
  })
})

/** Resolves once a statement of the service waits for a lock. */
async function waitsForLock({ database }: TestService): Promise<void> {
  if (database.engine !== 'postgres') return
  for (;;) {
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    if (rows[0]!.count > 0) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
