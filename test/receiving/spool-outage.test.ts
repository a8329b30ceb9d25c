// With SPOOL_URL webhooks are acknowledged while PostgreSQL is away, and each has one effect when it is back.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import type { Spool } from '../../src/receiving/spool/spool.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { Database } from '../../src/storage/database.ts'
import { SqliteConnection } from '../../src/storage/sqlite/connection.ts'
import { each, type Link, openLink, scoped } from '../harness/index.ts'
import { onPostgres, onSqlite, postgres, sqlite, type TestDatabase } from '../harness/engines.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { afterRunning } from '../harness/running-time.ts'
import type { AnswerTo } from '../harness/answers.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  startCrashService,
  writeEffect,
} from './harness.ts'
import { MemorySpool } from './memory-spool.ts'

interface Scene {
  home: TestDatabase
  /** The service's path to the database. */
  link: Link
  /** A path of the test's own, which stays. */
  direct: Database
  service: TestService
  file: string
  start: (env?: Record<string, string>) => Promise<TestService>
  close: () => Promise<void>
}

type Ready = AnswerTo<'GET /readyz'>

/** A service that reaches its PostgreSQL by a link, with a spool in a folder of its own. */
async function stage(parameters = ''): Promise<Scene> {
  const home = await postgres!.createMigratedDatabase()
  const link = await openLink(home.url)
  const direct = await openDatabase(home.url)
  const folder = mkdtempSync(join(tmpdir(), 'postern-spool-'))
  const file = join(folder, 'spool.db')
  const start = (env: Record<string, string> = {}): Promise<TestService> =>
    startTestService(postgres!, {
      databaseUrl: link.url,
      env: {
        SPOOL_URL: `file:${file}${parameters}`,
        HANDLER_TIMEOUT: '5',
        HANDLER_RETRY_SCHEDULE: '0,0,0,0,0',
        ...env,
      },
      handlers: {
        work: (event, { tx }) => writeEffect(tx, event.id),
        ordered: {
          orderBy: () => 'one',
          handle: (event, { tx }) => writeEffect(tx, event.id),
        },
      },
    })
  const service = await start()
  await createEffects(direct)
  return {
    home,
    link,
    direct,
    service,
    file,
    start,
    async close() {
      await service.close()
      link.close()
      await direct.close()
      await home.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const readinessOf = async (service: TestService, path = '/readyz'): Promise<[number, Ready]> => {
  const response = await service.fetch(path)
  return [response.status, (await response.json()) as Ready]
}

const drained = (service: TestService): Promise<boolean> =>
  eventually(async () => (await readinessOf(service))[1].spool?.events === 0, 'the spool is empty')

describe('a spool in a file', onPostgres, () => {
  test('an outage of the database under load: every webhook is acknowledged, and has one effect', async () => {
    await using staged = scoped(await stage())
    const { link, direct, service, file } = staged
    const acknowledged: string[] = []
    const send = async (round: string, count: number): Promise<void> => {
      const one = async (id: string): Promise<void> => {
        const { status } = await postWebhook(service, { id, type: id.endsWith('7') ? 'ordered' : 'work' })
        assert.equal(status, 200, id)
        acknowledged.push(id)
      }
      await Promise.all(Array.from({ length: count }, (_, index) => one(`${round}-${index}`)))
    }
    for (let outage = 0; outage < 2; outage += 1) {
      const sending = send(`cut-${outage}`, 50)
      link.cut()
      await sending
      await send(`away-${outage}`, 50)
      // What was stored before comes again.
      assert.equal((await postWebhook(service, { id: `away-${outage}-1`, type: 'work' })).status, 200)

      const [status, ready] = await readinessOf(service)
      assert.equal(status, 503)
      assert.ok(ready.spool!.events! >= 50)
      const [forWebhooks, spooling] = await readinessOf(service, '/readyz?for=webhooks')
      assert.equal(forWebhooks, 200)
      assert.equal(spooling.status, 'spooling')
      assert.equal(statSync(file).mode & 0o777, 0o600)
      const metrics = await (await service.admin('/metrics')).text()
      assert.match(metrics, /^postern_spool_events [1-9]\d*$/m)
      assert.match(metrics, /^postern_spool_away 1$/m)

      link.mend()
      await send(`back-${outage}`, 20)
      await eventually(async () => (await readinessOf(service))[0] === 200, 'it is ready')
      await drained(service)
    }
    await settled(direct)
    assert.deepEqual(await readEffects(direct), acknowledged.toSorted())
    const [status, ready] = await readinessOf(service, '/readyz?for=webhooks')
    assert.deepEqual(
      [status, ready.status, ready.spool],
      [200, 'ready', { status: 'ok', events: 0, oldestSeconds: 0 }],
    )
  })

  test('a slow commit is spooled and ended at the server, and gives one event', async () => {
    await using staged = scoped(await stage())
    const { home, direct, service } = staged
    await using blocking = scoped(new pg.Client({ connectionString: home.url }))
    await blocking.connect()
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    await settled(direct)
    await blocking.query('begin; lock table event_queue in exclusive mode')
    const ids = Array.from({ length: 30 }, (_, index) => `slow-${index}`)
    const answers = await Promise.all(ids.map((id) => postWebhook(service, { id, type: 'work' })))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    const { rows } = await blocking.query<{ now: string }>('select clock_timestamp()::text as now')
    // Else it could still succeed, beside the event of the spool. Later statements, such as claims, may wait.
    await eventually(async () => {
      const waiting = await blocking.query(
        `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query_start < $1`,
        [rows[0]!.now],
      )
      return waiting.rowCount === 0
    }, 'no statement from before the answers waits for the lock any more')
    await blocking.query('commit')
    await drained(service)
    await settled(direct)
    assert.deepEqual(await readEffects(direct), ['before', ...ids].toSorted())
  })

  test('all connections become silent: webhooks are acknowledged, and a stop ends within its limit', async () => {
    await using staged = scoped(await stage())
    const { link, direct, service, start } = staged
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    link.silence('new')
    const ids = Array.from({ length: 40 }, (_, index) => `silent-${index}`)
    const sentAt = Date.now()
    for (const id of ids) assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200, id)
    const answeredAt = Date.now()
    const [status, { status: readiness }] = await readinessOf(service, '/readyz?for=webhooks')
    assert.deepEqual([status, readiness], [200, 'spooling'])
    // A statement would wait for ten seconds.
    let isLate = false
    const cancel = afterRunning(9_500, () => (isLate = true))
    await service.stop(2_000)
    cancel()
    assert.ok(!isLate, 'the stop waits for no statement')

    link.mend()
    await using next = await start()
    await drained(next)
    await settled(direct)
    assert.deepEqual(await readEffects(direct), ['before', ...ids].toSorted())
    const times = await direct.reader
      .selectFrom('events')
      .select('created_at')
      .where('event_id', '!=', 'before')
      .execute()
    for (const { created_at: at } of times)
      assert.ok(at >= sentAt && at <= answeredAt, 'an event is of the time of its receipt')
  })

  test('a process is killed during the outage: the next one recovers all acknowledged webhooks', async () => {
    const { link, direct, service, file, close } = await stage()
    const killed = await startCrashService(link.url, { SPOOL_URL: `file:${file}`, HANDLER_TIMEOUT: '5' })
    try {
      const post = (id: string): Promise<Response> => postWebhook(killed, { id, type: 'work' })
      assert.equal((await post('before')).status, 200)
      link.cut()
      const acknowledged = ['before']
      const sending = Array.from({ length: 200 }, async (_, index) => {
        const id = `killed-${index}`
        const { status } = await post(id)
        if (status === 200) acknowledged.push(id)
      })
      await eventually(() => acknowledged.length > 20)
      killed.child.kill('SIGKILL')
      await Promise.allSettled(sending)
      assert.ok(existsSync(`${file}.2`), 'each process has a file of its own')
      link.mend()
      // The other process takes over what is left: its own file is another one.
      await eventually(async () => {
        const effects = new Set(await readEffects(direct))
        return acknowledged.every((id) => effects.has(id))
      }, 'every acknowledged event has its effect')
      await settled(direct)
      const effects = await readEffects(direct)
      assert.equal(effects.length, new Set(effects).size)
      await eventually(async () => (await readinessOf(service))[0] === 200, 'it is ready')
    } finally {
      killed.child.kill('SIGKILL')
      await close()
    }
  })

  test('events that the database refuses are set aside, and delay no others', async () => {
    await using staged = scoped(await stage())
    const { home, link, direct, service, file } = staged
    await using admin = scoped(new pg.Client({ connectionString: home.url }))
    await admin.connect()
    assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
    await admin.query(
      `alter table event_queue add constraint refusing check (event_id <> 'refused') not valid`,
    )
    link.cut()
    const ids = ['one', 'refused', 'two', 'three']
    for (const id of ids) assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200)
    link.mend()
    await drained(service)
    await settled(direct)
    assert.deepEqual(await readEffects(direct), ['before', 'one', 'three', 'two'])
    await service.stop()
    const spool = new SqliteConnection(file, { readOnly: true })
    assert.deepEqual(each(spool.all<{ event_id: string }>('select event_id from set_aside'), 'event_id'), [
      'refused',
    ])
    spool.close()
  })
})

test('without a database, and with a full or removed spool, webhooks get 503', onPostgres, async () => {
  await using scene = scoped(await stage('?max_bytes=134217728'))
  const { link, service, file } = scene
  link.cut()
  assert.equal((await postWebhook(service, { id: 'spooled', type: 'work' })).status, 200)
  renameSync(file, `${file}.moved`)
  const refused = await postWebhook(service, { id: 'refused', type: 'work' })
  assert.equal(refused.status, 503)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  renameSync(`${file}.moved`, file)
  assert.equal((await postWebhook(service, { id: 'again', type: 'work' })).status, 200)
  link.mend()
  await drained(service)
  const metrics = await (await service.admin('/metrics')).text()
  assert.match(metrics, /^postern_spool_webhooks_total\{outcome="stored"\} 2$/m)
  assert.match(metrics, /^postern_spool_webhooks_total\{outcome="refused"\} 1$/m)
  assert.ok(statSync(file).size < 65_536, 'the disk has its room back')
})

describe('a custom spool of the configuration', onPostgres, () => {
  test('acknowledges webhooks while PostgreSQL is unavailable, also when the process ends meanwhile', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using link = await openLink(home.url)
    await using direct = scoped(await openDatabase(home.url))
    const spool = new MemorySpool()
    const start = (): Promise<TestService> =>
      startTestService(postgres!, {
        databaseUrl: link.url,
        env: { HANDLER_TIMEOUT: '5', HANDLER_RETRY_SCHEDULE: '0,0,0,0,0' },
        config: { receiving: { spool, handlers: { work: (event, { tx }) => writeEffect(tx, event.id) } } },
      })
    const send = async (service: TestService, ...ids: string[]): Promise<void> => {
      for (const id of ids) assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200, id)
    }
    let service = await start()
    try {
      await createEffects(direct)
      await send(service, 'before')
      link.cut()
      await send(service, 'one', 'two', 'one')
      assert.equal(spool.entries.size, 3)
      const [status, ready] = await readinessOf(service, '/readyz?for=webhooks')
      assert.deepEqual([status, ready.status, ready.spool?.events], [200, 'spooling', 3])
      const metrics = await (await service.admin('/metrics')).text()
      assert.match(metrics, /^postern_spool_events 3$/m)
      spool.before = (method) => {
        if (method === 'append') throw new Error('the spool is full')
      }
      const rejected = await postWebhook(service, { id: 'rejected', type: 'work' })
      assert.equal(rejected.status, 503)
      assert.ok(Number(rejected.headers.get('retry-after')) > 0)
      spool.before = () => undefined

      await service.stop(2_000)
      assert.equal(spool.closed, 1)
      link.mend()
      service = await start()
      await drained(service)
      await settled(direct)
      assert.deepEqual(await readEffects(direct), ['before', 'one', 'two'])
    } finally {
      await service.close()
    }
  })
})

test('an unusable spool stops the start', onPostgres, async () => {
  await using home = await postgres!.createMigratedDatabase()
  const start = (spool: string): Promise<TestService> =>
    startTestService(postgres!, { databaseUrl: home.url, env: { SPOOL_URL: spool } })
  await assert.rejects(start('file:/proc/no-such-folder/spool.db'), /SPOOL_URL cannot be used/)
  await assert.rejects(start('redis://user:swordfish@host'), (error: Error) => {
    assert.match(error.message, /SPOOL_URL is wrong/)
    assert.doesNotMatch(error.message, /swordfish/)
    return true
  })
  await assert.rejects(start('nats://one:4222'), /SPOOL_URL is wrong: .*examples\/spool-nats/)
  const spool = new MemorySpool()
  const custom = (given: Spool, env: Record<string, string> = {}): Promise<TestService> =>
    startTestService(postgres!, { databaseUrl: home.url, env, config: { receiving: { spool: given } } })
  await assert.rejects(custom(spool, { SPOOL_URL: 'file:spool.db' }), /both set: remove one/)
  await assert.rejects(
    custom({ size: () => spool.size() } as Spool),
    /receiving\.spool lacks .*append, read, remove/,
  )
})

test('on SQLite, too: the file of the database is missing for a while', onSqlite, async () => {
  await using home = await sqlite!.createMigratedDatabase()
  const file = home.url.slice('sqlite:'.length)
  await using service = await startTestService(sqlite!, {
    databaseUrl: home.url,
    env: { SPOOL_URL: `file:${file}-away`, HANDLER_RETRY_SCHEDULE: '0,0,0,0,0' },
    handlers: { work: (event, { tx }) => writeEffect(tx, event.id) },
  })
  await createEffects(service.database)
  assert.equal((await postWebhook(service, { id: 'before', type: 'work' })).status, 200)
  await settled(service.database)
  renameSync(file, `${file}.moved`)
  for (const id of ['one', 'two', 'one'])
    assert.equal((await postWebhook(service, { id, type: 'work' })).status, 200)
  renameSync(`${file}.moved`, file)
  await drained(service)
  await settled(service.database)
  const metrics = await (await service.admin('/metrics')).text()
  assert.match(metrics, /^postern_spool_webhooks_total\{outcome="stored"\} 3$/m)
  assert.deepEqual(await readEffects(service.database), ['before', 'one', 'two'])
})
