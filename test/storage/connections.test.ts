// The number of connections of a process to PostgreSQL, and a server that refuses them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { sql } from 'kysely'
import { subscribe } from '../emitting/harness.ts'
import { onPostgres, postgres, startReceiver } from '../harness/index.ts'
import { startTestService, type TestServiceOptions } from '../harness/service.ts'
import { createEffects, eventually, postWebhook, writeEffect } from '../receiving/harness.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { leastConnections } from '../../src/storage/postgres/pool/connection-shares.ts'
import { createLog } from '../../src/telemetry/log.ts'

type Handlers = NonNullable<NonNullable<NonNullable<TestServiceOptions['config']>['receiving']>['handlers']>

/** A service with the fewest connections, on a database of its own, which is seen from outside as well. */
async function start(stack: AsyncDisposableStack, handlers: Handlers, env = {}) {
  const home = stack.adopt(await postgres!.createDatabase(), (it) => it.drop())
  const aside = await openDatabase(home.url)
  await createEffects(aside)
  // Its sessions have the names of the service's.
  await aside.close()
  const receiver = stack.adopt(await startReceiver(), (it) => it.close())
  const service = stack.adopt(
    await startTestService(postgres!, {
      databaseUrl: home.url,
      env: { ALLOW_PRIVATE_NETWORK: 'true', DATABASE_CONNECTIONS: String(leastConnections), ...env },
      config: { receiving: { handlers } },
    }),
    (it) => it.close(),
  )
  const server = new pg.Client({ connectionString: home.url, application_name: 'test' })
  await server.connect()
  stack.defer(() => server.end())
  const effects = async (): Promise<string[]> =>
    (await server.query<{ id: string }>('select event_id as id from effects')).rows.map(({ id }) => id)
  return { receiver, service, server, effects }
}

interface Session {
  pid: number
  name: string
}

/** The service's sessions. */
async function sessions(server: pg.Client): Promise<Session[]> {
  const { rows } = await server.query<Session>(
    `select pid, application_name as name from pg_stat_activity
     where datname = current_database() and application_name like 'postern%'`,
  )
  return rows
}

/** The names of sessions of which a process has one. */
const single = ['postern-listen', 'postern-claims']

/**
 * Returns the sessions of several looks that are still there at the last one: as soon as they are as few as they may be, or after half a
 * minute. The server lists a session for a moment after its connection was closed, which is long on a busy machine; one that the service
 * holds stays.
 */
async function lastingSessions(server: pg.Client, atMost: number): Promise<Session[]> {
  let lasting = await sessions(server)
  const areTooMany = (): boolean =>
    lasting.length > atMost || single.some((only) => lasting.filter(({ name }) => name === only).length > 1)
  for (const began = performance.now(); areTooMany() && performance.now() - began < 30_000;) {
    const now = new Set((await sessions(server)).map(({ pid }) => pid))
    lasting = lasting.filter(({ pid }) => now.has(pid))
  }
  return lasting
}

describe('connections of a process', onPostgres, () => {
  test('are at most DATABASE_CONNECTIONS, including one session to listen and one to claim', async () => {
    await using stack = new AsyncDisposableStack()
    const { receiver, service, server, effects } = await start(stack, {
      quick: (event, { tx }) => writeEffect(tx, event.id),
      slow: async (event, { tx }) => {
        await writeEffect(tx, event.id)
        await sql`select pg_sleep(0.2)`.execute(tx)
      },
    })
    await subscribe(service, { url: receiver.url })
    let most = 0
    const names = new Set<string>()
    let working = true
    const watched = (async () => {
      while (working) {
        const found = await lastingSessions(server, leastConnections)
        most = Math.max(most, found.length)
        for (const only of single)
          assert.ok(found.filter(({ name }) => name === only).length <= 1, `several sessions ${only}`)
        for (const { name } of found) names.add(name)
      }
    })()
    stack.defer(async () => {
      working = false
      await watched
    })
    /** Repeats a call that found no free connection in time: this test counts connections, not refusals. */
    const until = (expected: number, call: () => Promise<Response>): Promise<unknown> =>
      eventually(async () => {
        const { status } = await call()
        if (status !== 503) assert.equal(status, expected)
        return status === expected
      }, `the answer ${expected}`)
    const ids = Array.from({ length: 40 }, (_, index) => `event-${index}`)
    const work = ids.flatMap((id, index) => [
      until(200, () => postWebhook(service, { id, type: index % 3 === 0 ? 'slow' : 'quick' })),
      until(202, () =>
        service.admin('/events', { method: 'POST', json: { id, type: 'went.out', data: index } }),
      ),
      until(200, () => service.admin('/users?total=true')),
      until(200, () => service.admin('/events?status=delivered')),
    ])
    await Promise.all(work)
    await eventually(async () => (await effects()).length === ids.length, 'all are handled')
    await eventually(() => receiver.calls.length >= ids.length, 'all are delivered')
    working = false
    await watched
    assert.ok(most <= leastConnections, `${most} connections`)
    assert.ok(names.has('postern-listen') && names.has('postern-claims'))
  })

  test('with the fewest connections, long handlers delay neither acknowledgements, quick handlers nor deliveries', async () => {
    await using stack = new AsyncDisposableStack()
    const ending = Promise.withResolvers<void>()
    stack.defer(() => ending.resolve())
    let held = 0
    const hold: Handlers[string] = async (event, { tx }) => {
      await writeEffect(tx, event.id)
      held += 1
      await ending.promise
    }
    const { receiver, service, effects } = await start(stack, {
      'held.one': hold,
      'held.two': hold,
      'held.three': hold,
      quick: (event, { tx }) => writeEffect(tx, event.id),
    })
    await subscribe(service, { url: receiver.url })
    for (const type of ['held.one', 'held.two', 'held.three'])
      for (let index = 0; index < 12; index += 1)
        assert.equal((await postWebhook(service, { id: `${type}-${index}`, type })).status, 200)
    await eventually(() => held > 0, 'a handler keeps its connection')
    const ids = Array.from({ length: 40 }, (_, index) => `quick-${index}`)
    for (const id of ids) {
      assert.equal((await postWebhook(service, { id, type: 'quick' })).status, 200)
      assert.equal(
        (await service.admin('/events', { method: 'POST', json: { id, type: 'went.out', data: id } })).status,
        202,
      )
      assert.equal((await service.admin('/users')).status, 200)
    }
    await eventually(async () => {
      const handled = new Set(await effects())
      return ids.every((id) => handled.has(id))
    }, 'the quick ones are handled meanwhile')
    await eventually(() => receiver.calls.length >= ids.length, 'deliveries go out meanwhile')
    assert.equal((await service.fetch('/readyz')).status, 200)
    ending.resolve()
    await eventually(async () => (await effects()).length === ids.length + 36, 'all are handled')
  })

  test('when the server refuses connections, that is logged once, and work continues with the existing ones', async () => {
    await using stack = new AsyncDisposableStack()
    const home = stack.adopt(await postgres!.createDatabase(), (it) => it.drop())
    const role = `role_${new URL(home.url).pathname.slice(1)}`
    const admin = new pg.Client({ connectionString: home.url })
    await admin.connect()
    stack.defer(() => admin.end())
    const name = new URL(home.url).pathname.slice(1)
    await admin.query(`create role ${role} login nosuperuser password 'room' connection limit 4`)
    stack.defer(async () => {
      await admin.query(`reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`)
    })
    await admin.query(`alter database ${name} owner to ${role}; alter schema public owner to ${role}`)
    const url = new URL(home.url)
    url.username = role
    url.password = 'room'
    const lines: string[] = []
    const service = await startTestService(postgres!, {
      databaseUrl: url.href,
      env: { LOG_LEVEL: 'warn' },
      parts: { log: createLog('warn', { write: (line) => void lines.push(line) }) },
    })
    stack.defer(() => service.close())
    const burst = async (prefix: string): Promise<number[]> => {
      const answers = Array.from({ length: 60 }, async (_, index) => {
        const id = `${prefix}-${index}`
        const { status, headers } = await service.admin('/events', {
          method: 'POST',
          json: { id, type: 'went.out', data: index },
        })
        if (status === 503) assert.ok(Number(headers.get('retry-after')) > 0)
        else assert.equal(status, 202)
        const read = await service.admin(`/events?type=went.out&limit=1`)
        if (read.status !== 503) assert.equal(read.status, 200)
        return status
      })
      return Promise.all(answers)
    }
    const notices = (): string[] => lines.filter((line) => line.includes('no free connection slot'))
    const begun = performance.now()
    await eventually(async () => {
      await burst('without-room')
      return notices().length > 0
    }, 'the server has no room')
    const [notice = ''] = notices()
    assert.match(notice, /DATABASE_CONNECTIONS/)
    assert.match(notice, /max_connections/)
    const answered = await burst('still-without')
    assert.ok(answered.includes(202), 'it works with what it has')
    const minutes = Math.floor((performance.now() - begun) / 60_000)
    assert.ok(notices().length <= 1 + minutes, 'at most one a minute')
    assert.ok(lines.length < 20, `${lines.length} lines: ${lines.slice(0, 5).join('')}`)

    await admin.query(`alter role ${role} connection limit 50`)
    await eventually(
      async () => (await burst(`room-${lines.length}`)).every((status) => status === 202),
      'there is room again',
    )
    assert.equal((await service.fetch('/readyz')).status, 200)
  })
})
