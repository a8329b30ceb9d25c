import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { migrate } from '../../src/storage/migrate.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { TransactionOver } from '../../src/storage/lazy-transaction.ts'
import { isUniqueViolation, StorageUnavailable } from '../../src/storage/unavailable.ts'
import { onEachEngine, scoped, started } from '../harness/index.ts'

const key = (name: string) => ({
  id: name,
  name,
  role: 'user' as const,
  scopes: 'events:read',
  prefix: 'pk_',
  key_hash: Buffer.from(name),
  created_at: 1,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
})

onEachEngine('transactions', (engine) => {
  const home = started(() => engine.createDatabase())
  const database = started(() => openDatabase(home.url))
  before(async () => {
    await migrate(database)
  })

  const names = async (): Promise<string[]> =>
    (await database.reader.selectFrom('api_keys').select('id').orderBy('id').execute()).map(({ id }) => id)
  const insert = (name: string) =>
    database.transaction((tx) => tx.insertInto('api_keys').values(key(name)).execute())

  test('a transaction commits when the work resolves, and rolls back when it throws', async () => {
    await insert('kept')
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.insertInto('api_keys').values(key('dropped')).execute()
        throw new Error('no')
      }),
      /no/,
    )
    assert.deepEqual(await names(), ['kept'])
  })

  test('readers neither see nor wait for uncommitted writes', async () => {
    await database.transaction(async (tx) => {
      await tx.insertInto('api_keys').values(key('unseen')).execute()
      assert.ok(!(await names()).includes('unseen'))
    })
    assert.ok((await names()).includes('unseen'))
  })

  test('begins at its first query', async () => {
    const idle = database.begin()
    await insert('meanwhile')
    await idle.tx.selectFrom('api_keys').select('id').execute()
    await idle.rollback()
  })

  test('a query after the end is an error', async () => {
    const over = database.begin()
    await over.tx.selectFrom('api_keys').select('id').execute()
    await over.commit()
    await assert.rejects(over.tx.selectFrom('api_keys').select('id').execute(), /committed already/)
  })

  test('is rolled back at its time limit, and others continue', async () => {
    // On a busy machine the first statement takes some of the limit.
    const slow = database.begin({ timeLimit: 1_000 })
    await slow.tx.insertInto('api_keys').values(key('too slow')).execute()
    await insert('after the limit')
    // On PostgreSQL the other write does not wait for the limit, so it is awaited here by asking until it is reached.
    await assert.rejects(async () => {
      for (;;) await slow.tx.selectFrom('api_keys').select('id').execute()
    }, /time limit|Connection terminated|database is unavailable/)
    await assert.rejects(slow.commit())
    const found = await names()
    assert.ok(found.includes('after the limit'))
    assert.ok(!found.includes('too slow'))
  })

  if (engine.name === 'postgres')
    test('a rollback releases the locks of the session', async () => {
      const transaction = database.begin()
      await sql`do $$ begin perform pg_advisory_lock(4711); end $$`.execute(transaction.tx)
      await transaction.rollback()
      const locks = sql`select pid from pg_locks where locktype = 'advisory' and objid = 4711
        and database = (select oid from pg_database where datname = current_database())`
      assert.deepEqual((await locks.execute(database.reader)).rows, [])
    })

  test('an error leaves the database usable', async () => {
    await insert('once')
    await assert.rejects(insert('once'), (error) => isUniqueViolation(error))
    await insert('and on')
  })

  test('a last statement runs with the commit, and is rolled back with it', async () => {
    const statement = (name: string) =>
      database.reader.insertInto('api_keys').values(key(name)).returning('id').compile()
    const { answered } = await database.transaction(async (tx, last) => {
      await tx.insertInto('api_keys').values(key('before the last')).execute()
      return { answered: last(statement('last')) }
    })
    assert.equal(JSON.stringify((await answered).rows), '[{"id":"last"}]')
    assert.ok((await names()).includes('before the last'))

    let failing: Promise<unknown> | undefined
    await assert.rejects(
      database.transaction(async (tx, last) => {
        await tx.insertInto('api_keys').values(key('undone')).execute()
        failing = last(statement('last'))
      }),
      (error) => isUniqueViolation(error),
    )
    await assert.rejects(failing!, (error) => isUniqueViolation(error))
    assert.ok(!(await names()).includes('undone'))
    await insert('behind the failure')

    let dropped: Promise<unknown> | undefined
    await assert.rejects(
      database.transaction(async (_tx, last) => {
        dropped = last(statement('never'))
        throw new Error('no')
      }),
      /no/,
    )
    await assert.rejects(dropped!, /rolled back already/)
    await database.transaction(async (_tx, last) => void last(statement('alone')))
    assert.deepEqual(
      (await names()).filter((name) => ['never', 'alone'].includes(name)),
      ['alone'],
    )
  })

  test('only one last statement is allowed, and the time limit applies to it', async () => {
    const statement = (name: string) => database.reader.insertInto('api_keys').values(key(name)).compile()
    await assert.rejects(
      database.transaction(async (_tx, last) => {
        void last(statement('one'))
        void last(statement('two'))
      }),
      /one last statement/,
    )
    if (database.engine === 'sqlite') return
    const holder = await database.pool.connect()
    try {
      await holder.query('begin; lock table api_keys')
      let waiting: Promise<unknown> | undefined
      await assert.rejects(
        database.transaction(async (_tx, last) => void (waiting = last(statement('waiting'))), {
          timeLimit: 100,
        }),
        (error) => error instanceof TransactionOver && error.outOfTime,
      )
      await assert.rejects(waiting!)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    await insert('behind the wait')
    assert.ok(!(await names()).includes('waiting'))
  })

  test('concurrent migrations apply once', async () => {
    await using fresh = await engine.createDatabase()
    const databases = [await openDatabase(fresh.url), await openDatabase(fresh.url)]
    const applied = await Promise.all(databases.map((one) => migrate(one)))
    assert.deepEqual(
      applied.map((list) => list.length).toSorted((a, b) => a - b),
      [0, migrations.length],
    )
    await Promise.all(databases.map((one) => one.close()))
  })

  test('a pending migration with a lower number than the last applied one is applied', async () => {
    await using fresh = await engine.createDatabase()
    await using one = scoped(await openDatabase(fresh.url))
    const of = (number: number) => {
      const text = `create table made_${number} (n integer)`
      return { number, name: `made ${number}`, breaking: false, sqlite: text, postgres: text }
    }
    assert.deepEqual(await migrate(one, [of(1), of(4)]), ['made 1', 'made 4'])
    assert.deepEqual(await migrate(one, [of(1), of(2), of(4)]), ['made 2'])
  })

  test('a failed migration leaves nothing', async () => {
    await using fresh = await engine.createDatabase()
    await using one = scoped(await openDatabase(fresh.url))
    const broken = {
      number: 1,
      name: 'broken',
      breaking: true,
      sqlite: 'create table half (n integer); nonsense',
      postgres: 'create table half (n integer); nonsense',
    }
    await assert.rejects(migrate(one, [broken]))
    await assert.rejects(sql`select * from half`.execute(one.reader))
  })
})

test('an unreachable database is StorageUnavailable', async () => {
  await using database = scoped(await openDatabase('postgres://nobody@127.0.0.1:1/none'))
  await assert.rejects(database.ping(), StorageUnavailable)
  await assert.rejects(
    database.transaction((tx) => tx.selectFrom('users').selectAll().execute()),
    StorageUnavailable,
  )
})
