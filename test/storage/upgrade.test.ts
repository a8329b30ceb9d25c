// "Expand, then contract" (CONTRIBUTING.md): a newer release adds to the schema of a filled database while a process of the previous
// release runs. For breaking migrations, see newer-database.test.ts.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { describeError } from '../../src/diagnostics/describe-error.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate, pendingMigrations, UnreleasedDatabase } from '../../src/storage/migrate.ts'
import { type Migration, migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { emit, subscribe, type SubscriberAnswer } from '../emitting/harness.ts'
import { each, onEachEngine, type Receiver, startReceiver, type TestDatabase } from '../harness/index.ts'
import { scoped } from '../harness/scoped.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  settled,
  writeEffect,
} from '../receiving/harness.ts'

/** Tables of which the service reads or returns all columns, and the queue. */
const widened = ['event_queue', 'subscribers', 'products', 'sessions'] as const

const statements = `${widened.map((table) => `alter table ${table} add column region text;`).join('\n')}
  create index event_queue_of_region on event_queue (region) where region is not null;
  create table regions (name text primary key);`
const expanding: Migration = {
  number: 9_001,
  name: 'regions',
  breaking: false,
  sqlite: statements,
  postgres: statements,
}
const newerRelease = [...migrations, expanding]

const product = {
  id: 'p1',
  category: 'tools',
  price: 2.5,
  stock: 1,
  name: 'hammer',
  created_at: '2026-01-31T08:30:00.000000Z',
}

onEachEngine('a release that adds to the schema of a filled database', (engine) => {
  const started = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let home: TestDatabase
  let receiver: Receiver
  let old: TestService
  let subscriber: SubscriberAnswer
  /** A connection of the newer release. */
  let newer: Database

  const startOld = (): Promise<TestService> =>
    startTestService(engine, {
      databaseUrl: home.url,
      env: { ALLOW_PRIVATE_NETWORK: 'true' },
      handlers: {
        async work(event, { tx, emit: emitWithin }) {
          if (event.id === 'held') {
            started.resolve()
            await gate.promise
          }
          await writeEffect(tx, event.id)
          emitWithin({ type: 'done', data: event.id })
        },
      },
    })

  before(async () => {
    home = await engine.createDatabase()
    receiver = await startReceiver()
    old = await startOld()
    newer = await openDatabase(home.url)
    await createEffects(newer)
  })
  after(async () => {
    gate.resolve()
    await old.close()
    await newer.close()
    await receiver.close()
    await home.drop()
  })

  test('leaves existing rows unchanged', async () => {
    subscriber = await subscribe(old, { url: receiver.url, eventTypes: ['done'] })
    await newer.transaction((tx) => tx.insertInto('products').values(product).execute())
    assert.equal((await postWebhook(old, { id: 'before', type: 'work' })).status, 200)
    await settled(newer)
    await receiver.waitFor(1)
    await eventually(async () => (await rowsOf('attempts')).length === 1, 'the attempt is recorded')
    // Its handler is under way during the migration.
    assert.equal((await postWebhook(old, { id: 'held', type: 'work' })).status, 200)
    await started.promise

    const tables = [
      'events',
      'idempotency_keys',
      'deliveries',
      'attempts',
      'subscribers',
      'products',
      'users',
    ] as const
    const read = () => Promise.all(tables.map(rowsOf))
    const filled = await read()
    assert.deepEqual(await migrate(newer, newerRelease), ['regions'])
    const added = (table: string) => ((widened as readonly string[]).includes(table) ? { region: null } : {})
    assert.deepEqual(
      await read(),
      filled.map((rows, index) => rows.map((row) => ({ ...row, ...added(tables[index]!) }))),
    )
  })

  test('does not affect a process of the previous release', async () => {
    gate.resolve()
    assert.equal((await postWebhook(old, { id: 'after', type: 'work' })).status, 200)
    await settled(newer)
    assert.deepEqual(await readEffects(newer), ['after', 'before', 'held'])
    await emit(old, { type: 'done', data: 'by a call' })
    await receiver.waitFor(4)

    const changed = await old.admin(`/subscribers/${subscriber.id}`, {
      method: 'PATCH',
      json: { description: 'changed' },
    })
    assert.equal(changed.status, 200)
    const { data } = (await (await old.fetch('/products')).json()) as { data: { id: string }[] }
    assert.deepEqual(each(data, 'id'), ['p1'])
    assert.equal((await old.fetch('/readyz')).status, 200)
  })

  test('can use its additions beside that process', async () => {
    assert.deepEqual(await pendingMigrations(newer, newerRelease), [])
    await newer.transaction((tx) =>
      sql`update event_queue set region = 'north' where event_id = 'before'`.execute(tx),
    )
    assert.equal((await old.admin('/events')).status, 200)
    const { rows } = await sql<{
      region: string | null
    }>`select region from event_queue order by event`.execute(newer.reader)
    assert.deepEqual(each(rows, 'region'), ['north', null, null])
  })

  test('can be rolled back: the previous release starts on the database', async () => {
    await old.close()
    old = await startOld()
    assert.equal((await postWebhook(old, { id: 'back', type: 'work' })).status, 200)
    await settled(newer)
    assert.deepEqual(await readEffects(newer), ['after', 'back', 'before', 'held'])
    await receiver.waitFor(5)
  })

  async function rowsOf(table: string): Promise<Record<string, unknown>[]> {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)} order by 1`.execute(
      newer.reader,
    )
    // Rows of SQLite have no prototype, copies have.
    return structuredClone(rows)
  }
})

onEachEngine('a database of an unreleased build', (engine) => {
  const [initial, ...later] = migrations
  const changed = (statements: (text: string) => string): Migration[] => [
    { ...initial!, sqlite: statements(initial!.sqlite), postgres: statements(initial!.postgres) },
    ...later,
  ]
  const after = async (prepare: (database: Database) => Promise<unknown>, work: typeof migrate) => {
    await using home = await engine.createDatabase()
    await using database = scoped(await openDatabase(home.url))
    await prepare(database)
    return await work(database)
  }
  const isRejected = async (prepare: (database: Database) => Promise<unknown>): Promise<void> => {
    for (const work of [migrate, pendingMigrations])
      await assert.rejects(after(prepare, work), (error: Error) => {
        assert.ok(error instanceof UnreleasedDatabase, error.message)
        assert.equal(describeError(error), error.message)
        const remedy = engine.name === 'sqlite' ? /start over: delete \/.*\.db, or set/ : /start over: set/
        assert.match(error.message, remedy)
        return true
      })
  }

  test('is rejected if a migration differs', async () => {
    await isRejected((database) =>
      migrate(
        database,
        changed((text) => `${text} create table more (id integer);`),
      ),
    )
  })

  test('is rejected if it recorded no checksums', async () => {
    await isRejected(async (database) => {
      await migrate(database)
      await database.transaction((tx) => sql`alter table migrations drop column checksum`.execute(tx))
    })
  })

  test('is usable if only comments and layout differ', async () => {
    const layout = changed((text) => `-- The schema.\n${text.replaceAll('\n', '\n\n  ')}`)
    assert.deepEqual(await after((database) => migrate(database, layout), migrate), [])
  })

  test('stops the start, also without migrating', async () => {
    await using home = await engine.createDatabase()
    const database = await openDatabase(home.url)
    await migrate(
      database,
      changed((text) => `${text} create table more (id integer);`),
    )
    await database.close()
    for (const migrating of [true, false])
      await assert.rejects(
        startTestService(engine, { databaseUrl: home.url, parts: { migrate: migrating } }),
        UnreleasedDatabase,
      )
  })
})
