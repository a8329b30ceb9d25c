// A newer version applies a breaking migration while an older process runs, which then ends its work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HandlerContext, ReceivedEvent } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openEventQueue } from '../../src/receiving/store-events.ts'
import type { ClaimedEvent, ProcessedMarker } from '../../src/receiving/queue/store.ts'
import { ClaimLost } from '../../src/receiving/worker/interruptions.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { type Migration, migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { each, scoped, startReceiver, startTestService, type TestService } from '../harness/index.ts'
import { onEachEngine, onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'
import { subscribe } from '../emitting/harness.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  writeEffect,
} from '../receiving/harness.ts'
import { incomingEvent } from '../receiving/incoming-event.ts'

const breaking: Migration = {
  number: 9_001,
  name: 'of-a-newer-version',
  breaking: true,
  sqlite: 'create table newer (id integer)',
  postgres: 'create table newer (id integer)',
}
const harmless: Migration = { ...breaking, number: 9_002, name: 'harmless', breaking: false }

onEachEngine('a migration by a newer version', (engine) => {
  let home: TestDatabase
  const lines: string[] = []

  async function start(
    handle: (event: ReceivedEvent, context: HandlerContext) => Promise<void>,
  ): Promise<TestService> {
    lines.length = 0
    home = await engine.createDatabase()
    return startTestService(engine, {
      databaseUrl: home.url,
      env: { ALLOW_PRIVATE_NETWORK: 'true', HANDLER_TIMEOUT: '600' },
      handlers: { work: handle },
      parts: { log: createLog('warn', { write: (line) => void lines.push(line) }) },
    })
  }

  async function applyNewer(...newer: Migration[]): Promise<void> {
    await using database = scoped(await openDatabase(home.url))
    await migrate(database, [...migrations, ...newer])
  }

  test('does not affect an older process if it is not breaking', async () => {
    const service = await start((event, { tx }) => writeEffect(tx, event.id))
    try {
      await createEffects(service.database)
      await applyNewer({ ...harmless, sqlite: 'select 1', postgres: 'select 1' })
      await postWebhook(service, { id: 'after', type: 'work' })
      await settled(service.database)
      assert.equal((await service.fetch('/readyz')).status, 200)
      assert.deepEqual(await migrate(service.database), [], 'another one starts')
    } finally {
      await service.close()
      await home.drop()
    }
  })

  test('ends the work of an older process if it is breaking: nothing is claimed, committed or sent, and calls get 503', async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    let last: unknown
    const service = await start(async (event, { tx, signal }) => {
      begun.push(event.id)
      await gate.promise
      last = signal.reason
      await writeEffect(tx, event.id)
    })
    const receiver = await startReceiver()
    const direct = await openDatabase(home.url)
    try {
      await createEffects(direct)
      await subscribe(service, { url: receiver.url })
      for (const id of ['one', 'two']) await postWebhook(service, { id, type: 'work' })
      await eventually(() => begun.length === 2)
      await applyNewer(breaking)
      await eventually(async () => (await service.fetch('/readyz')).status === 503, 'it is not ready')
      assert.deepEqual(await (await service.fetch('/readyz')).json(), {
        status: 'outdated',
        database: 'newer',
        oldestDueSeconds: {},
      })
      assert.equal((await service.fetch('/healthz')).status, 200)
      const refused = [
        await postWebhook(service, { id: 'three', type: 'work' }),
        await service.admin('/events', { method: 'POST', json: { type: 'went.out', data: 1 } }),
        await service.admin('/subscribers'),
        await service.fetch('/login'),
        await service.fetch('/nowhere'),
      ]
      for (const response of refused) {
        assert.equal(response.status, 503)
        assert.equal(((await response.json()) as { code: string }).code, 'database-newer')
        assert.ok(Number(response.headers.get('retry-after')) > 0)
      }
      gate.resolve()
      await eventually(() => last !== undefined, 'the handlers were told to stop')
      assert.ok(lines.some((line) => line.includes('migration 9001 (of-a-newer-version)')))

      // The process does not keep trying to connect: each part that needs the database logs its failure, and does not repeat it.
      const told = lines.length
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      const messages = lines.slice(told).map((line) => (JSON.parse(line) as { msg: string }).msg)
      for (const [message, same] of Map.groupBy(messages, (one) => one))
        assert.ok(same.length < 5, `it has logged "${message}" ${same.length} times in 2 s`)
      assert.deepEqual(await readEffects(direct), [])
      const rows = await direct.reader.selectFrom('event_queue').select('status').execute()
      assert.deepEqual(each(rows, 'status'), ['pending', 'pending'])
    } finally {
      await service.close()
      await receiver.close()
      await direct.close()
      await home.drop()
    }
  })

  const blocking = { skip: engine.name === 'sqlite' && 'a reader never waits for a writer there' }
  test('also ends calls that wait for the database with 503', blocking, async () => {
    const service = await start(async () => undefined)
    const direct = await openDatabase(home.url)
    assert.ok(direct.engine === 'postgres')
    const locker = await direct.pool.connect()
    try {
      // The first answer has the harness read the API's description, which is refused later.
      assert.equal((await service.admin('/subscribers')).status, 200)
      await locker.query('begin; lock table subscribers')
      // More than there are connections: some wait for the answer, others for a connection.
      const calls = Array.from({ length: 30 }, () => service.admin('/subscribers'))
      // Databases that are copies of one template have the same numbers for their tables.
      const waiting = `select 1 from pg_locks where not granted and relation = 'subscribers'::regclass
        and database = (select oid from pg_database where datname = current_database())`
      await eventually(async () => Number((await locker.query(waiting)).rowCount) > 1, 'calls wait')
      await applyNewer(breaking)
      const codes = new Set<string>()
      for (const response of await Promise.all(calls)) {
        const { code } = (await response.json()) as { code: string }
        assert.equal(response.status, 503, code)
        codes.add(code)
      }
      assert.ok(codes.has('database-newer'), [...codes].join(', '))
    } finally {
      locker.release(true)
      await service.close()
      await direct.close()
      await home.drop()
    }
  })

  test('stops the start of an older process', async () => {
    const service = await start(async () => undefined)
    await service.close()
    await applyNewer(breaking)
    for (const migrating of [true, false])
      await assert.rejects(
        startTestService(engine, { databaseUrl: home.url, parts: { migrate: migrating } }),
        /migration 9001 \(of-a-newer-version\)/,
      )
    await home.drop()
  })
})

test(
  'an older process cannot mark events that it claimed before the migration, and claims no more',
  onPostgres,
  async () => {
    await using home = await postgres!.createDatabase()
    await using database = scoped(await openDatabase(home.url))
    await using newer = scoped(await openDatabase(home.url))
    const unexpected = (error: unknown): never => assert.fail(String(error))
    const parts = { database, clock: systemClock, onError: unexpected }
    await migrate(database)
    const queue = openEventQueue(parts)
    await queue.acquireSession({ lost: () => undefined, freed: () => undefined })
    const now = Date.now()
    const claim = (): Promise<ClaimedEvent[]> =>
      queue.claim(
        [{ source: 'shop', type: 'order.paid', count: 9, until: now + 600_000 }],
        queue.newClaim(),
        now,
      )
    await queue.insert([incomingEvent('before')])
    const [before] = await claim()
    await migrate(newer, [...migrations, breaking])
    await queue.insert([incomingEvent('after')])
    assert.deepEqual(await claim(), [])

    const sharing = database.share((tx, marks: readonly ProcessedMarker[]) => queue.markProcessed(tx, marks))
    const options = { timeLimit: 9_000, turnLimit: 9_000, onEnd: () => undefined, group: 'test' }
    const part = sharing.begin({ alone: true, ...options })
    const { event, claim: held } = before!
    const { committed } = await part.release({ event, claim: held, orderKey: null, at: now })
    await assert.rejects(committed, ClaimLost)
    const rows = await newer.reader
      .selectFrom('event_queue')
      .select(['event_id', 'claim'])
      .orderBy('event')
      .execute()
    const [id] = held.split(':')
    assert.deepEqual(rows, [
      // Others take it over when the session of its claimer is gone.
      { event_id: 'before', claim: `${id}:before-migration` },
      { event_id: 'after', claim: null },
    ])
    await queue.releaseSession(true)
    await queue.close()
  },
)
